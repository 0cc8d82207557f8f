//! Traces reach a collector, in a process of their own because logs are set up once per process.
