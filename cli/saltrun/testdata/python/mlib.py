"""An execution module that uses Salt's library."""

import salt.client
import salt.loader
import salt.utils.event


def caller():
    client = salt.client.Caller()
    return [client.cmd("test.arg", "1", "k=a"), client.function("test.echo", "x")]


def event():
    with salt.utils.event.get_event("minion", opts=__opts__) as bus:
        bus.fire_event({"n": 1}, "own/tag")
        return bus.get_event(wait=30, tag="own/tag")["n"]


def runner():
    return [__salt__["saltutil.runner"]("test.arg", ["a"], kwarg={"k": 1}),
            __salt__["publish.runner"]("test.arg", ["b"])]


def wheel():
    return __salt__["saltutil.wheel"]("key.list_all")["return"]["minions"]


def publish():
    return [__salt__["publish.publish"]("m1", "test.echo", "x"),
            __salt__["publish.full_data"]("m1", "test.ping")["m1"]["ret"]]


def local():
    return salt.client.LocalClient().cmd("m1", "test.echo", ["x"], timeout=30)


def mods():
    return salt.loader.minion_mods(__opts__)["test.echo"]("x")
