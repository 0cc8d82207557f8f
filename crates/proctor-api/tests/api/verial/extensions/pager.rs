//! A pager: everything about it stands in this file.

use std::sync::Arc;

use http::{Method, StatusCode};
use proctor_core::{environment::Simulator, problem::Problems};
use proctor_simulation::{
    config::read_config,
    exchange::{Request, Response},
    exhibits::Exhibits,
    fields::Fields,
    registry::{MachineSource, SimulatorPlugin, factory},
    scenario::{StepFields, StepKind},
    schema::{about, object, text},
    seed::Seed,
    simulator::{Around, Decision, Machine, NotProvided, Provided, Provision, Recorded},
};
use proctor_verify::check::{AssertionNode as _, Check, Failed, Object, Outcome, Scope, Template};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The type of simulator.
pub(super) struct PagerPlugin;

impl SimulatorPlugin for PagerPlugin {
    fn name(&self) -> &'static str {
        "Pager"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["Beeper"]
    }

    fn path(&self) -> &'static str {
        "pages"
    }

    fn endpoints(&self) -> &'static [(&'static str, &'static str)] {
        &[("pages", "pages")]
    }

    fn config_schema(&self) -> Value {
        object(
            &[],
            json!({"number": about("Where it is reached.", text())}),
        )
    }

    fn machine(&self) -> MachineSource {
        MachineSource::Own(|simulator| Ok(factory(read(simulator)?, Pager::branch)))
    }

    fn steps(&self) -> &'static [StepKind] {
        &[PAGE_INBOUND]
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    number: String,
}

fn read(simulator: &Simulator) -> Result<Config, Problems> {
    read_config(&simulator.config)
}

/// A page arrives.
#[derive(Debug)]
struct PageInbound {
    text: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPage {
    text: Option<String>,
}

const PAGE_INBOUND: StepKind = StepKind {
    name: "page_inbound",
    read: |map| {
        let (written, mut fields) = StepFields::read::<WrittenPage>(map);
        let text = fields.required("text", written.text);
        fields.finish(text.map(|text| PageInbound { text }))
    },
    schema: || json!({"type": "object", "required": ["text"]}),
    listed: 100,
};

/// A page: what the state is made of, and what checks see.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Page {
    text: String,
    is_given: bool,
}

struct Pager {
    config: Arc<Config>,
    pages: Vec<Page>,
}

impl Pager {
    fn branch(config: Arc<Config>, _: Seed) -> Self {
        Self {
            config,
            pages: Vec::new(),
        }
    }

    fn send(request: &Request) -> Result<Page, Box<Response>> {
        let fields = Fields::of(request, 1_000)?;
        let text = fields.text("text", 100);
        fields.finish()?;
        Ok(Page {
            text,
            is_given: false,
        })
    }
}

impl Machine for Pager {
    type Change = Page;

    fn decide(&self, request: &Request, _: &Around<'_>) -> Decision<Page> {
        if request.method == Method::GET {
            let all = Response::json(StatusCode::OK, &json!({"data": self.pages}));
            return Decision::answer("page_request", request, all);
        }
        match Self::send(request) {
            Ok(page) => {
                let response = Response::json(StatusCode::CREATED, &page);
                Decision {
                    event: Recorded::request("page_outbound", request, &response),
                    response,
                    changes: vec![page],
                }
            }
            Err(refusal) => Decision::answer("page_outbound", request, *refusal),
        }
    }

    fn provide(
        &self,
        provision: &Provision<'_>,
        _: &Around<'_>,
    ) -> Result<Provided<Page>, NotProvided> {
        let Some(PageInbound { text }) = provision.action() else {
            return Err(NotProvided::not_mine(provision, "Pager"));
        };
        let page = Page {
            text: text.clone(),
            is_given: true,
        };
        Ok(Provided {
            event: Recorded::arrival("page_inbound", json!(page)),
            changes: vec![page],
        })
    }

    fn evolve(&mut self, page: Page) {
        self.pages.push(page);
    }

    fn exhibit<'w>(&'w self, exhibits: &mut Exhibits<'w>) {
        exhibits.show(&self.pages);
    }

    fn credentials(&self, prefix: &str) -> Value {
        json!({"number": self.config.number, "pages_url": format!("{prefix}/pages")})
    }
}

/// `page-sent`: the agent sent a page with this text.
pub(super) struct PageSent {
    text: Template,
}

impl Check for PageSent {
    const NAME: &'static str = "page-sent";

    type View<'w> = Option<Vec<&'w Page>>;

    fn view<'w>(exhibits: &'w Exhibits<'w>) -> Self::View<'w> {
        exhibits.evidence()
    }

    fn read(assertion: &Object<'_>) -> Option<Self> {
        let text = assertion.required("text")?.template()?;
        Some(Self { text })
    }

    fn run(&self, pages: &Self::View<'_>, scope: &Scope<'_>) -> Result<Outcome, Failed> {
        let text = self.text.text(scope, str::to_owned)?;
        let pages = pages.as_ref();
        let pages = pages.ok_or_else(|| Failed("the playground has no pager".to_owned()))?;
        let is_sent = pages.iter().any(|page| !page.is_given && page.text == text);
        let evidence = json!({"pages": pages});
        Ok(if is_sent {
            Outcome::share(1, 1, "the page was sent".to_owned(), evidence)
        } else {
            Outcome::nothing(format!("no page says \"{text}\""), evidence)
        })
    }

    fn blank(&self) -> Value {
        json!({"pages": []})
    }
}
