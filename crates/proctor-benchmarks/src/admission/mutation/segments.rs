//! Other values in messages that are made of segments: HL7 v2 and X12.
//!
//! What only numbers and addresses the message itself is left alone: control numbers, times of sending, set ids, and order
//! numbers that the sender makes up. Another one there is another right message, not a wrong one.

use super::values::altered;

/// Segments of X12 that hold the others together.
const ENVELOPE: [&str; 9] = ["ISA", "GS", "ST", "BHT", "HL", "TRN", "SE", "GE", "IEA"];
/// The fields of an HL7 header that say to whom it goes and what it is.
const HEADER: [usize; 3] = [4, 5, 8];

/// How a message is written.
struct Syntax {
    segment: char,
    element: char,
    component: char,
    is_hl7: bool,
}

/// Every text that differs in one value: what names the value, and the text. Nothing for a text of another kind but the text
/// as a whole.
pub(super) fn changed(text: &str) -> Vec<(String, String)> {
    let begin = text.trim_start();
    let syntax = if begin.starts_with("MSH|") {
        let segment = if text.contains('\r') { '\r' } else { '\n' };
        Syntax {
            segment,
            element: '|',
            component: '^',
            is_hl7: true,
        }
    } else if begin.starts_with("ISA*") {
        Syntax {
            segment: '~',
            element: '*',
            component: ':',
            is_hl7: false,
        }
    } else {
        return vec![("text".to_owned(), altered(text))];
    };
    syntax.changed(text)
}

impl Syntax {
    fn changed(&self, text: &str) -> Vec<(String, String)> {
        let segments: Vec<&str> = text.split(self.segment).collect();
        let mut all = Vec::new();
        for (at, segment) in segments.iter().enumerate() {
            let elements: Vec<&str> = segment.split(self.element).collect();
            let name = elements[0].trim();
            for (number, element) in elements.iter().enumerate().skip(1) {
                if !self.is_value(name, number) {
                    continue;
                }
                let components: Vec<&str> = element.split(self.component).collect();
                for (part, component) in components.iter().enumerate() {
                    if component.trim().is_empty() {
                        continue;
                    }
                    let mut components = components.clone();
                    let other = altered(component);
                    components[part] = &other;
                    let mut elements = elements.clone();
                    let element = components.join(&self.component.to_string());
                    elements[number] = &element;
                    let mut segments = segments.clone();
                    let segment = elements.join(&self.element.to_string());
                    segments[at] = &segment;
                    let text = segments.join(&self.segment.to_string());
                    all.push((self.named(name, number, part, components.len()), text));
                }
            }
        }
        all
    }

    /// Whether an element says something about the matter.
    fn is_value(&self, segment: &str, number: usize) -> bool {
        match (self.is_hl7, segment) {
            (false, name) => !ENVELOPE.contains(&name),
            // The separator itself is the first field of a header.
            (true, "MSH") => HEADER.contains(&number),
            (true, "ORC") => number != 2,
            (true, "OBR") => number > 2,
            (true, _) => number > 1,
        }
    }

    fn named(&self, segment: &str, number: usize, part: usize, parts: usize) -> String {
        let number = number + usize::from(self.is_hl7 && segment == "MSH");
        match parts {
            1 => format!("{segment}.{number}"),
            _ => format!("{segment}.{number}.{}", part + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        changed(text).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn values_of_messages_are_changed_and_numbers_of_the_sender_are_not() {
        let hl7 = "MSH|^~\\&|EHR|WARD4|LAB|MAIN|20300304064000||ORM^O01|M1|P|2.5.1\nPID|1||100234^^^WARD4\nORC|NW|W4-7750\n";
        assert_eq!(
            names(hl7),
            [
                "MSH.5", "MSH.6", "MSH.9.1", "MSH.9.2", "PID.3.1", "PID.3.4", "ORC.1"
            ]
        );
        let x12 = "ISA*00*x~GS*HI~ST*278*0001~NM1*IL*1*Sorensen~HI*ABK:M5416~SE*3*0001~IEA*1~";
        let changed = changed(x12);
        let names: Vec<&str> = changed.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["NM1.1", "NM1.2", "NM1.3", "HI.1.1", "HI.1.2"]);
        assert!(changed[4].1.contains("HI*ABK:M5411~"), "{changed:?}");
    }

    #[test]
    fn another_text_is_one_value() {
        assert_eq!(
            changed("Dear Dr. Osei"),
            [("text".to_owned(), "Something else".to_owned())]
        );
    }
}
