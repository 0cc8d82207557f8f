use reqwest::Method;
use serde_json::json;

use super::support::Boxes;

const BOUNDARY: &str = "------------------------boundary";

/// A form with these parts, in this order.
fn form(parts: &[(&str, Option<&str>, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, file_name, content) in parts {
        let file_name = file_name.map_or(String::new(), |file| format!("; filename=\"{file}\""));
        body.extend(
            format!(
                "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"{file_name}\r\n\r\n"
            )
            .bytes(),
        );
        body.extend_from_slice(content);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{BOUNDARY}--\r\n").bytes());
    body
}

#[tokio::test]
async fn text_files_are_written_and_read() {
    let boxes = Boxes::start().await;
    let path = boxes.running(json!({})).await;
    let text = "Grüße\nan alle\n";
    for place in ["a/b.txt", "~/a/b.txt", "/tmp/c.txt"] {
        let body = json!({"file_path": place, "contents": text});
        assert_eq!(
            boxes
                .post(&format!("{path}/write_file_contents"), body)
                .await,
            json!({})
        );
        let request = boxes
            .server
            .own(Method::POST, &format!("{path}/read_file_contents"));
        let response = request
            .body(json!({"file_path": place}).to_string())
            .send()
            .await
            .unwrap();
        assert!(
            response.headers()["content-type"]
                .to_str()
                .unwrap()
                .starts_with("text/plain")
        );
        assert_eq!(response.text().await.unwrap(), text);
    }
    for (place, status) in [("nowhere", 404), ("/etc", 400), ("", 400)] {
        let (refused, message) = boxes
            .refused(
                &format!("{path}/read_file_contents"),
                json!({"file_path": place}),
            )
            .await;
        assert_eq!(refused, status, "{place}: {message}");
    }
    assert_eq!(
        boxes
            .refused(
                &format!("{path}/write_file_contents"),
                json!({"contents": "x"})
            )
            .await
            .0,
        400
    );
    boxes.end().await;
}

#[tokio::test]
async fn large_files_of_any_kind_go_in_and_out_whole_in_either_order() {
    let boxes = Boxes::start().await;
    let path = boxes.running(json!({})).await;
    // Larger than the limit on other bodies, and no text.
    let bytes: Vec<u8> = (0..3_000_000_u32)
        .map(|number| (number % 251) as u8)
        .collect();
    for (place, path_first) in [("first.bin", true), ("second.bin", false)] {
        let mut parts: Vec<(&str, Option<&str>, &[u8])> = vec![
            ("path", None, place.as_bytes()),
            ("file", Some("x"), &bytes),
        ];
        if !path_first {
            parts.reverse();
        }
        let request = boxes
            .server
            .own(Method::POST, &format!("{path}/upload_file"))
            .header(
                "content-type",
                format!("multipart/form-data; boundary={BOUNDARY}"),
            )
            .body(form(&parts));
        let answer = boxes.answer(request).await;
        assert_eq!((answer.status, answer.body), (200, json!({})));
        let request = boxes
            .server
            .own(Method::POST, &format!("{path}/download_file"));
        let response = request
            .body(json!({"path": place}).to_string())
            .send()
            .await
            .unwrap();
        assert_eq!(
            response.headers()["content-type"],
            "application/octet-stream"
        );
        assert!(
            response.bytes().await.unwrap() == bytes,
            "{place} is as it was"
        );
    }
    boxes.end().await;
}

#[tokio::test]
async fn a_form_that_is_wrong_or_ends_early_leaves_the_old_file() {
    let boxes = Boxes::start().await;
    let path = boxes.running(json!({})).await;
    boxes
        .post(
            &format!("{path}/write_file_contents"),
            json!({"file_path": "kept", "contents": "old"}),
        )
        .await;
    let whole = form(&[
        ("path", None, b"kept"),
        ("file", Some("x"), &[b'n'; 100_000]),
    ]);
    for (kind, body) in [
        ("application/json", b"{}".to_vec()),
        ("multipart/form-data; boundary=other", whole.clone()),
        (
            "multipart/form-data; boundary=------------------------boundary",
            whole[..90_000].to_vec(),
        ),
        (
            "multipart/form-data; boundary=------------------------boundary",
            form(&[("path", None, b"kept")]),
        ),
        (
            "multipart/form-data; boundary=------------------------boundary",
            form(&[("file", None, b"x")]),
        ),
    ] {
        let request = boxes
            .server
            .own(Method::POST, &format!("{path}/upload_file"))
            .header("content-type", kind)
            .body(body);
        let answer = boxes.answer(request).await;
        assert_eq!(answer.status, 400, "{kind}: {}", answer.body);
    }
    assert_eq!(
        boxes.execute(&path, json!({"command": "cat kept"})).await["stdout"]
            .as_str()
            .unwrap()
            .split('\n')
            .next(),
        Some("old")
    );
    boxes.end().await;
}
