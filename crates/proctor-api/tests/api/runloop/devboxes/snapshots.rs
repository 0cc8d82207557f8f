use proctor_testkit::eventually;
use serde_json::json;

use super::support::Boxes;

#[tokio::test]
async fn a_snapshot_is_taken_listed_used_renamed_and_deleted() {
    let boxes = Boxes::start().await;
    let source = boxes.running(json!({})).await;
    boxes
        .execute(&source, json!({"command": "echo kept >/tmp/file"}))
        .await;
    let body = json!({"name": "snap", "commit_message": "words", "metadata": {"a": "b"}});
    let taken = boxes.post(&format!("{source}/snapshot_disk"), body).await;
    let id = taken["id"].as_str().unwrap().to_owned();
    assert_eq!(
        (&taken["name"], &taken["commit_message"], &taken["metadata"]),
        (&json!("snap"), &json!("words"), &json!({"a": "b"}))
    );
    let place = format!("/v1/devboxes/disk_snapshots/{id}");
    let status = boxes.get(&format!("{place}/status")).await;
    assert_eq!(
        (&status["status"], &status["snapshot"]["id"]),
        (&json!("complete"), &json!(id))
    );
    let devbox = source.rsplit('/').next().unwrap();
    let listed = boxes
        .get(&format!("/v1/devboxes/disk_snapshots?devbox_id={devbox}"))
        .await;
    assert_eq!(
        (
            &listed["total_count"],
            &listed["snapshots"][0]["source_devbox_id"]
        ),
        (&json!(1), &json!(devbox))
    );
    for (query, found) in [
        ("metadata[a]=b", 1),
        ("metadata%5Ba%5D=c", 0),
        ("metadata[a][in]=c,b", 1),
        ("metadata[a]=b&metadata[z]=b", 0),
    ] {
        let listed = boxes
            .get(&format!("/v1/devboxes/disk_snapshots?{query}"))
            .await;
        assert_eq!(listed["total_count"], found, "{query}");
    }

    let restored = boxes.running(json!({"snapshot_id": id})).await;
    assert_eq!(boxes.get(&restored).await["snapshot_id"], json!(id));
    assert_eq!(
        boxes
            .execute(&restored, json!({"command": "cat /tmp/file"}))
            .await["stdout"],
        "kept\n"
    );
    assert_eq!(
        boxes.post(&place, json!({"name": "renamed"})).await["name"],
        "renamed"
    );
    assert_eq!(
        boxes.post(&format!("{place}/delete"), json!({})).await,
        json!({})
    );
    let status = boxes.get(&format!("{place}/status")).await;
    assert_eq!(status, json!({"status": "deleted"}));
    let (status, message) = boxes
        .refused("/v1/devboxes", json!({"snapshot_id": id}))
        .await;
    assert_eq!(status, 400);
    assert!(message.contains("does not exist"), "{message}");
    boxes.end().await;
}

#[tokio::test]
async fn a_snapshot_in_the_background_has_a_status() {
    let boxes = Boxes::start().await;
    let path = boxes.running(json!({})).await;
    let begun = boxes
        .post(&format!("{path}/snapshot_disk_async"), json!({}))
        .await;
    let place = format!(
        "/v1/devboxes/disk_snapshots/{}/status",
        begun["id"].as_str().unwrap()
    );
    eventually("the snapshot is complete", async || {
        let status = boxes.get(&place).await;
        assert_ne!(status["status"], "error", "{status}");
        status["status"] == "complete"
    })
    .await;
    boxes.end().await;
}
