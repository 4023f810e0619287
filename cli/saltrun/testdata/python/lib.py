"""A runner that uses Salt's library."""

import salt.cache
import salt.client
import salt.config
import salt.crypt
import salt.loader
import salt.pillar
import salt.runner
import salt.template
import salt.utils.event
import salt.utils.minions
import salt.wheel


def _client():
    return salt.client.get_local_client(__opts__["conf_file"])


def cmd():
    found = _client().cmd("m*", "test.arg", ["a", "k=1"], kwarg={"w": [2]}, timeout=30)
    return {name: [value["args"], {k: v for k, v in value["kwargs"].items() if k[:2] != "__"}]
            for name, value in found.items()}


def cmd_full():
    found = _client().cmd("m1", "test.echo", ["x"], full_return=True, timeout=30)
    return {name: [answer["ret"], answer["retcode"]] for name, answer in found.items()}


def cmd_full_return():
    found = _client().cmd_full_return("m1", "test.echo", ["x"], timeout=30)
    return {name: [answer["ret"], answer["success"]] for name, answer in found.items()}


def cmd_list():
    return _client().cmd(["m1", "m2"], "test.ping", tgt_type="list", timeout=30)


def cmd_several():
    return _client().cmd("m1", ["test.ping", "test.echo"], [[], ["x"]], timeout=30)


def nobody():
    return _client().cmd("nobody*", "test.ping", timeout=5)


def cmd_iter():
    return sorted((n, a["ret"]) for part in _client().cmd_iter("m1", "test.ping", timeout=30)
                  for n, a in part.items())


def cmd_batch():
    return list(_client().cmd_batch("m1", "test.ping", batch=1))


def cmd_subset():
    return _client().cmd_subset("m*", "test.ping", subset=1)


def job():
    client = _client()
    job = client.run_job("m1", "test.echo", ["later"], timeout=30)
    found = client.get_returns(job["jid"], job["minions"], timeout=30)
    return [job["minions"], found]


def cmd_async():
    jid = _client().cmd_async("m1", "test.ping")
    return [type(jid).__name__, len(jid)]


def runner():
    client = salt.runner.RunnerClient(__opts__)
    return [client.cmd("test.arg", ["a", "k=1"], print_event=False),
            client.cmd("lib.nope", [], print_event=False)[:30]]


def runner_async():
    client = salt.runner.RunnerClient(__opts__)
    with salt.utils.event.get_master_event(__opts__, __opts__["sock_dir"]) as bus:
        begun = client.cmd_async({"fun": "test.arg", "arg": ["a"], "kwarg": {"k": 1}})
        event = bus.get_event(wait=30, tag=begun["tag"] + "/ret")
    return [begun["tag"] == "salt/run/" + begun["jid"], event["return"]]


def wheel():
    client = salt.wheel.WheelClient(__opts__)
    return [client.cmd("key.list_all", print_event=False)["minions"],
            client.cmd_sync({"fun": "key.name_match", "match": "m*"})]


def events():
    with salt.utils.event.get_master_event(__opts__, __opts__["sock_dir"]) as bus:
        sent = bus.fire_event({"n": 1}, "my/other")
        bus.fire_event({"n": 2}, "my/tag")
        event = bus.get_event(wait=30, tag="my/tag", full=True)
        missing = bus.get_event(wait=0.01, tag="my/none")
    return [sent, event["tag"], event["data"]["n"], missing]


def started():
    bus = salt.utils.event.get_event("master", opts=__opts__, sock_dir=__opts__["sock_dir"])
    job = _client().run_job("m1", "test.ping", timeout=30)
    event = bus.get_event(wait=30, tag="salt/job/*/ret/m1", match_type="fnmatch")
    return [event["jid"] == job["jid"], event["return"], event["id"]]


def cache():
    store = salt.cache.factory(__opts__)
    store.store("own/bank", "key", {"a": [1, None]})
    return [store.fetch("own/bank", "key"), store.list("own/bank"), store.fetch("own/bank", "none"),
            store.contains("own/bank", "key"), store.fetch("minions/m1", "data")["pillar"]]


def keys(directory):
    path = salt.crypt.gen_keys(directory, "own", 2048)
    signature = salt.crypt.sign_message(path, b"text")
    public = path[:-4] + ".pub"
    return [path == directory + "/own.pem", len(signature),
            salt.crypt.verify_signature(public, b"text", signature),
            salt.crypt.verify_signature(public, b"other", signature)]


def pillar():
    return salt.pillar.get_pillar(__opts__, {"os": "x"}, "m1", "base").compile_pillar()


def match():
    ck = salt.utils.minions.CkMinions(__opts__)
    return [ck.check_minions("m*")["minions"], ck.check_minions("G@own_g:gval", "compound")["minions"],
            ck.check_minions("nobody")["minions"]]


def config():
    own = salt.config.master_config(__opts__["conf_file"])
    client = salt.config.client_config(__opts__["conf_file"])
    return [own["id"] == __opts__["id"], client["cachedir"] == __opts__["cachedir"]]


def template(path):
    with open(path, "w") as file:
        file.write("#!jinja|yaml\nn: {{ x + 1 }}\n")
    renderers = salt.loader.render(__opts__, {})
    return [salt.template.compile_template(path, renderers, "jinja|yaml", [], [], context={"x": 1}),
            salt.template.compile_template(":string:", renderers, "jinja|yaml", [], [],
                                           input_data="a: {{ 1 + 1 }}")]


def user():
    return [__user__, __tag__ == "salt/run/" + __jid__]


def execute():
    return __salt__["salt.execute"]("m1", "test.echo", ["x"])
