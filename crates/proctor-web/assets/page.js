import './time.js';
import './keys.js';
import './live.js';
import './table.js';
import './grid.js';
import './timeline.js';
import './log.js';
