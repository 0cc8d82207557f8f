//! A corpus of Dockerfiles with the features of real ones, in the shares that real ones have them: all of them are understood and planned.

use proctor_core::{blueprint::Recipe, id::kinds::ObjectId};
use uuid::Uuid;

use super::{super::dockerfile::Dockerfile, tests::plan_on_host};

/// How many files; the shares below are thousandths of it.
const FILES: usize = 1054;

/// A feature, how many thousandths of real files have it, and how it looks.
const FEATURES: &[(&str, usize, &str)] = &[
    (
        "label",
        60,
        "LABEL org.opencontainers.image.title=\"a task\" version='1'\n",
    ),
    ("cmd", 120, "CMD [\"/bin/bash\"]\n"),
    ("cmd in shell form", 40, "CMD tail -f /dev/null\n"),
    ("entrypoint", 25, "ENTRYPOINT [\"/usr/bin/env\"]\n"),
    ("expose", 45, "EXPOSE 8080 5432/tcp\n"),
    ("volume", 8, "VOLUME [\"/data\", \"/logs\"]\n"),
    (
        "healthcheck",
        12,
        "HEALTHCHECK --interval=5s --retries=3 \\\n  CMD curl -f http://localhost/ || exit 1\n",
    ),
    ("stopsignal", 6, "STOPSIGNAL SIGTERM\n"),
    ("maintainer", 9, "MAINTAINER Somebody <some@body.example>\n"),
    (
        "shell",
        5,
        "SHELL [\"/bin/bash\", \"-o\", \"pipefail\", \"-c\"]\n",
    ),
    (
        "here-document as a file",
        12,
        "COPY <<EOF /app/config.ini\n[main]\nhome = $HOME\nEOF\n",
    ),
    (
        "here-document as a script",
        6,
        "RUN <<'EOF'\nset -e\nfor i in 1 2; do\n  echo \"$i\" >> /app/list\ndone\nEOF\n",
    ),
    (
        "here-document of a command",
        8,
        "RUN cat <<-'END' > /app/run.sh\n\t#!/bin/sh\n\techo hi # not a comment\n\tEND\n",
    ),
    (
        "here-document with an interpreter",
        6,
        "RUN <<EOF\n#!/usr/bin/env python3\nprint('hello')\nEOF\n",
    ),
    (
        "packages",
        700,
        "RUN apt-get update && apt-get install -y --no-install-recommends \\\n    # tools\n    curl \\\n    git \\\n    && rm -rf /var/lib/apt/lists/*\n",
    ),
    (
        "pip",
        350,
        "RUN pip install --no-cache-dir pytest==8.4.1 \"numpy>=1.26\"\n",
    ),
    ("copy", 600, "COPY . /app/\n"),
    (
        "copy with flags",
        80,
        "COPY --chown=app:app --chmod=644 a.txt b.txt /app/\n",
    ),
    ("add", 30, "ADD data.tar.gz /data/\n"),
    ("env", 450, "ENV A=1 B=\"two words\" \\\n    C=$A\n"),
    ("old env", 20, "ENV OLD some value\n"),
    ("user", 60, "RUN useradd -m app\nUSER app:app\n"),
    ("workdir", 850, "WORKDIR /app\n"),
    (
        "argument",
        70,
        "ARG VERSION=1.2\nRUN echo ${VERSION:-none}\n",
    ),
    (
        "exec form",
        30,
        "RUN [\"/bin/sh\", \"-c\", \"echo exec\"]\n",
    ),
    (
        "copy from an image",
        42,
        "COPY --from=ghcr.io/astral-sh/uv:0.5 /uv /uvx /bin/\n",
    ),
    ("unusual spelling", 20, "run echo lower\nworkdir sub\n"),
];

/// What files begin with.
const BEGINNINGS: &[(usize, &str)] = &[
    (560, "FROM python:3.12-slim\n"),
    (260, "FROM ubuntu:24.04\n"),
    (
        60,
        "# syntax=docker/dockerfile:1\nFROM debian:bookworm-slim AS base\n",
    ),
    (
        40,
        "FROM --platform=linux/$TARGETARCH python:3.13-slim-bookworm\n",
    ),
    (30, "ARG BASE=ubuntu:24.04\nARG BASE_TAG\nFROM ${BASE}\n"),
    (
        30,
        "FROM golang:1.22 AS build\nWORKDIR /src\nCOPY go.mod .\nRUN go build -o /out/app\n\nFROM alpine:3\nCOPY --from=build /out/app /usr/local/bin/\n",
    ),
    (
        10,
        "FROM node:20 AS deps\nRUN npm ci\nFROM node:20 AS unused\nRUN exit 1\nFROM node:20\nCOPY --from=0 /node_modules /app/node_modules\n",
    ),
    (
        10,
        "FROM python:3.12 AS base\nENV P=1\nFROM base\nRUN echo $P\n",
    ),
];

/// Files with these features, the same whenever they are made.
fn corpus() -> Vec<String> {
    let mut state: u64 = 20_261_118;
    let mut next = move |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let total: usize = BEGINNINGS.iter().map(|(share, _)| share).sum();
    (0..FILES)
        .map(|_| {
            let mut at = next(total);
            let mut text = String::new();
            for (share, beginning) in BEGINNINGS {
                if at < *share {
                    text.push_str(beginning);
                    break;
                }
                at -= share;
            }
            for (_, share, shape) in FEATURES {
                if next(1000) < *share {
                    text.push_str(shape);
                }
            }
            text
        })
        .collect()
}

fn recipe() -> Recipe {
    Recipe {
        build_context: Some(ObjectId::from_uuid(Uuid::from_u128(7))),
        ..Recipe::default()
    }
}

#[test]
fn every_file_of_the_corpus_is_understood_and_planned() {
    let files = corpus();
    for (_, _, shape) in FEATURES {
        assert!(
            files.iter().any(|text| text.contains(shape)),
            "no file has {shape:?}"
        );
    }
    for text in files {
        let dockerfile = Dockerfile::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let plan = plan_on_host(&recipe(), &dockerfile);
        let plan = plan.unwrap_or_else(|error| panic!("{error}\n{text}"));
        let target = &plan.stages[&plan.target];
        // What is written is either done, or noted, or changes what follows.
        let runs = text.matches("\nRUN ").count() + text.matches("\nrun ").count();
        assert!(
            target.steps.len() + plan.stages.len() > 0 || runs == 0,
            "{text}"
        );
        assert_eq!(
            text.contains("LABEL"),
            target.notes.contains(&"LABEL"),
            "{text}"
        );
        assert!(
            !text.contains("unused") || !plan.stages.contains_key(&1),
            "{text}"
        );
    }
}

#[test]
fn each_shape_alone_and_all_together_are_planned() {
    let whole: String = FEATURES.iter().map(|(_, _, shape)| *shape).collect();
    let alone = FEATURES.iter().map(|(_, _, shape)| (*shape).to_owned());
    for shapes in alone.chain([whole]) {
        for (_, beginning) in BEGINNINGS {
            let text = format!("{beginning}{shapes}");
            let dockerfile =
                Dockerfile::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            plan_on_host(&recipe(), &dockerfile).unwrap_or_else(|error| panic!("{error}\n{text}"));
        }
    }
}

#[test]
fn the_bases_that_are_shipped_as_examples_are_planned() {
    for text in [
        include_str!("../../../../../examples/images/t-bench-ubuntu-24-04.Dockerfile"),
        include_str!("../../../../../examples/images/t-bench-python-3-13.Dockerfile"),
    ] {
        let dockerfile = Dockerfile::parse(text).unwrap();
        let plan = plan_on_host(&recipe(), &dockerfile).unwrap();
        let image = plan.image().unwrap();
        assert_eq!(image.working_directory.as_deref(), Some("/app"));
    }
}
