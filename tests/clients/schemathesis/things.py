"""Things on the server that operations can be tried on.

An operation on a made-up id only ever meets a 404. So there is one thing of each kind, made over HTTP when it is first
needed; operations that end or change what they are called on get one of their own.
"""

import itertools
import json
import urllib.request

import schemathesis

# The last part of a path, or a method, after which a thing is not what it was.
CHANGING = {
    "archive", "cancel", "complete", "delete", "kill", "publish", "resume", "score", "shutdown", "start", "suspend",
    "teardown", "unarchive", "unpublish",
}

# Names are never made twice, whoever makes them: a slug is a benchmark's own.
NUMBERS = itertools.count(1)


@schemathesis.serializer("application/toml")
def as_toml(_context, value):
    """Bodies that are TOML are made up as text; what is wrong with it is for the server to say."""
    return value if isinstance(value, bytes) else str(value).encode()


class Things:
    def __init__(self, url, key, operator_key=None):
        self.url, self.key, self.operator_key = url, key, operator_key
        self.made = {}
        # Whose paths begin so: the longest fitting beginning wins.
        self.makers = {
            "/api-keys/": self.api_key,
            "/benchmark-runs/": self.run,
            "/benchmarks/": self.benchmark,
            "/criteria/": self.criterion,
            "/criterion-runs/": self.criterion_run,
            "/datasets/": self.dataset,
            "/environments/": self.environment,
            "/organizations/": self.organization,
            "/playgrounds/": self.playground,
            "/sandboxes/": self.sandbox,
            "/simulators/": self.simulator,
            "/solvers/": self.solver,
            "/task-runs/": self.task_run,
            "/tasks/": self.task,
            "/v1/agents/": self.agent,
            "/v1/benchmark-runs": self.taken_run,
            "/v1/benchmark_jobs/": self.job,
            "/v1/benchmark_runs/": self.benchmark_run,
            "/v1/benchmarks/metadata/keys/": self.metadata_key,
            "/v1/benchmarks/runs/": self.benchmark_run,
            "/v1/benchmarks/": self.suite,
            "/v1/blueprints/": self.blueprint,
            "/v1/devboxes/disk_snapshots/": self.snapshot,
            "/v1/devboxes/": self.devbox,
            "/v1/network-policies/": self.network_policy,
            "/v1/objects/": self.object,
            "/v1/scenarios/metadata/keys/": self.metadata_key,
            "/v1/scenarios/runs/": self.scenario_run,
            "/v1/scenarios/scorers/": self.scorer,
            "/v1/scenarios/": self.scenario,
            "/v1/secrets/": self.secret,
            "/v1/task-runs/": self.taken_task_run,
        }

    def call(self, method, path, body=None, key=None):
        headers = {"Authorization": f"Bearer {key or self.key}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def post(self, path, body=None, key=None):
        return self.call("POST", path, {} if body is None else body, key)

    def name(self, word="thing"):
        return f"{word}-{next(NUMBERS)}"

    def get(self, maker, whose="shared"):
        """The thing that `maker` makes: its path parameters, and the key that opens it if it is another one."""
        found = self.made.get((maker, whose))
        if found is None:
            found = self.made[maker, whose] = maker()
        return found

    def of(self, method, path):
        """The thing that an operation is about; nothing if it is about none."""
        fitting = [beginning for beginning in self.makers if path.startswith(beginning)]
        if not fitting:
            return {}
        maker = self.makers[max(fitting, key=len)]
        if path.endswith("/logs/tail"):
            maker = self.ended_devbox
        ending = path.rsplit("/", 1)[1]
        changes = method == "DELETE" or ending in CHANGING
        return self.get(maker, f"{method} {path}" if changes else "shared")

    def references(self, path):
        """What members of bodies refer to by their names."""
        if path.startswith("/v1/"):
            return {
                "benchmark_id": lambda: self.get(self.suite)["id"],
                "benchmark_run_id": lambda: self.get(self.benchmark_run)["id"],
                "scenario_id": lambda: self.get(self.scenario)["id"],
                "snapshot_id": lambda: self.get(self.snapshot)["id"],
                "blueprint_id": lambda: self.get(self.blueprint)["id"],
                "network_policy_id": lambda: self.get(self.network_policy)["id"],
                "object_id": lambda: self.get(self.object)["id"],
                "agent_id": lambda: self.get(self.agent)["id"],
                "benchmark": lambda: self.get(self.taken_run)["slug"],
                "scenario_ids": lambda: [self.get(self.scenario)["id"]],
                "scenarios_to_add": lambda: [self.get(self.scenario)["id"]],
            }
        return {
            "benchmark_id": lambda: self.get(self.benchmark)["id"],
            "environment_id": lambda: self.get(self.environment)["id"],
            "simulator_id": lambda: self.get(self.simulator)["id"],
            "task_id": lambda: self.get(self.task)["id"],
            "entity_id": lambda: self.get(self.dataset)["entity_id"],
        }

    # The Verial dialect.

    def organization(self):
        return {"id": self.post("/organizations", {"name": self.name("organization")}, self.operator_key)["id"]}

    def api_key(self):
        return {"id": self.post("/api-keys", {"name": self.name("key")})["id"]}

    def dataset(self):
        bundle = {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": {"resourceType": "Patient", "id": "ada"}}]}
        dataset = self.post("/datasets", {"name": self.name("dataset"), "type": "FHIR", "data": bundle})["id"]
        entity = {"kind": "patient", "key": "ada", "data": {"id": "ada"}}
        return {"id": dataset, "entity_id": self.post(f"/datasets/{dataset}/entities", entity)["id"]}

    def simulator(self):
        return {"id": self.post("/simulators", {"type": "Fhir", "name": self.name("ehr")})["id"]}

    def environment(self):
        environment = self.post("/environments", {"name": self.name("ward")})["id"]
        simulator = self.simulator()["id"]
        self.post(f"/environments/{environment}/simulators/{simulator}")
        return {"id": environment, "simulator_id": simulator}

    def playground(self):
        return {"id": self.post("/playgrounds", {"environment_id": self.get(self.environment)["id"]})["id"]}

    def sandbox(self):
        sandbox = self.post("/sandboxes", {"simulator_id": self.get(self.simulator)["id"]})["id"]
        return {"id": sandbox, "dataset_id": self.get(self.dataset)["id"]}

    def benchmark(self):
        environment = self.environment()["id"]
        body = {"name": self.name("benchmark"), "environment_id": environment, "timeout": 600}
        benchmark = self.post("/benchmarks", body)["id"]
        task = self.post("/tasks", {"benchmark_id": benchmark, "name": "Register Ada"})["id"]
        assertion = {"assert": "fhir-resource-state", "resource_type": "Patient", "search": {"_id": "ada"}}
        criterion = self.post("/criteria", {"task_id": task, "label": "Ada is there", "assertion": assertion})["id"]
        slug = self.name("slug")
        self.post(f"/benchmarks/{benchmark}/publish", {"slug": slug})
        return {"id": benchmark, "version": 1, "slug": slug, "task": task, "criterion": criterion}

    def task(self):
        return {"id": self.benchmark()["task"], "entity_id": self.get(self.dataset)["entity_id"]}

    def criterion(self):
        return {"id": self.benchmark()["criterion"]}

    def solver(self):
        words = {"real_name": "Ada", "agent_description": "Registers.", "contact_email": "ada@example.org"}
        solver = self.post("/solvers", {"alias": self.name("solver"), **words})["id"]
        key = self.post(f"/solvers/{solver}/api-keys")
        return {"id": solver, "key_id": key["id"], "its_key": key["key"]}

    def taken_run(self):
        slug = f"{self.get(self.benchmark)['slug']}@1"
        solver = self.get(self.solver)["its_key"]
        run = self.post("/v1/benchmark-runs", {"benchmark": slug}, solver)
        taken = {"id": run["benchmark_run_id"], "task_run": run["task_runs"][0]["id"], "token": run["bearer_token"]}
        return {**taken, "slug": slug, "key": solver}

    def taken_task_run(self):
        run = self.taken_run()
        return {"id": run["task_run"], "key": run["token"]}

    def run(self):
        return {"id": self.taken_run()["id"]}

    def task_run(self):
        return {"id": self.taken_run()["task_run"]}

    def criterion_run(self):
        run = self.taken_run()
        for step in ("start", "complete"):
            self.post(f"/v1/task-runs/{run['task_run']}/{step}", {}, run["token"])
        whole = self.call("GET", f"/benchmark-runs/{run['id']}")
        return {"id": whole["task_runs"][0]["criterion_runs"][0]["id"]}

    # The Runloop dialect.

    def metadata_key(self):
        self.get(self.scenario)
        return {"key": "suite"}

    def secret(self):
        name = self.name("SECRET").replace("-", "_")
        return {"name": self.post("/v1/secrets", {"name": name, "value": "hush"})["name"]}

    def object(self):
        return {"id": self.post("/v1/objects", {"name": self.name("object"), "content_type": "text"})["id"]}

    def network_policy(self):
        return {"id": self.post("/v1/network-policies", {"name": self.name("policy")})["id"]}

    def agent(self):
        source = {"type": "npm", "npm": {"package_name": "agent"}}
        return {"id": self.post("/v1/agents", {"name": self.name("agent"), "version": "1.0.0", "source": source})["id"]}

    def blueprint(self):
        return {"id": self.post("/v1/blueprints", {"name": self.name("blueprint"), "dockerfile": "FROM host\nENV A=b\n"})["id"]}

    def devbox(self):
        devbox = self.post("/v1/devboxes", {"name": self.name("devbox")})["id"]
        self.await_devbox(devbox)
        ran = self.post(f"/v1/devboxes/{devbox}/execute", {"command": "echo well > file.txt; echo well"})
        return {"id": devbox, "execution_id": ran["execution_id"]}

    def await_devbox(self, devbox):
        waited = self.post(f"/v1/devboxes/{devbox}/wait_for_status", {"statuses": ["running", "failure"]})
        assert waited["status"] == "running", waited

    def ended_devbox(self):
        devbox = self.devbox()
        self.post(f"/v1/devboxes/{devbox['id']}/shutdown")
        return devbox

    def snapshot(self):
        return {"id": self.post(f"/v1/devboxes/{self.get(self.devbox)['id']}/snapshot_disk")["id"]}

    def scorer(self):
        return {"id": self.post("/v1/scenarios/scorers", {"type": self.name("scorer"), "bash_script": "echo score=1.0"})["id"]}

    def scenario(self):
        scorer = {"type": "command_scorer", "command": "true"}
        body = {
            "name": self.name("scenario"),
            "input_context": {"problem_statement": "Do nothing."},
            "scoring_contract": {"scoring_function_parameters": [{"name": "fine", "weight": 1, "scorer": scorer}]},
            "metadata": {"suite": "schemathesis"},
            "reference_output": "true",
        }
        return {"id": self.post("/v1/scenarios", body)["id"]}

    def suite(self):
        scenario = self.get(self.scenario)["id"]
        body = {"name": self.name("suite"), "scenario_ids": [scenario], "metadata": {"suite": "schemathesis"}}
        return {"id": self.post("/v1/benchmarks", body)["id"]}

    def benchmark_run(self):
        return {"id": self.post("/v1/benchmarks/start_run", {"benchmark_id": self.suite()["id"]})["id"]}

    def job(self):
        agents = [{"name": "nop", "type": "job_agent"}]
        spec = {"type": "scenarios", "scenario_ids": [self.get(self.scenario)["id"]], "agent_configs": agents}
        return {"id": self.post("/v1/benchmark_jobs", {"name": self.name("job"), "spec": spec})["id"]}

    def scenario_run(self):
        run = self.post("/v1/scenarios/start_run", {"scenario_id": self.get(self.scenario)["id"]})
        self.await_devbox(run["devbox_id"])
        return {"id": run["id"]}
