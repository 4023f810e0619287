// Package eventbus is the event bus of a master or a minion: whatever happens is told to whoever listens.
//
// Inside a daemon code fires events and subscribes to them:
//
//	bus := eventbus.New(eventbus.Options{Log: log})
//	sub := bus.Subscribe(eventbus.SubscribeOptions{Name: "reactor", Prefixes: []string{"salt/minion/"}})
//	defer sub.Close()
//	bus.Fire("salt/minion/web1/start", data.NewMap("id", "web1"))
//	event, err := sub.Next(ctx)
//
// Serve opens the two sockets that other programs on the host use, ours and Salt's alike: each listener on the
// pub socket gets every event, and what is written to the pull socket is fired. Dial is the other end, for
// command lines and scripts.
//
// Events with secrets in them are private: Options.Private names their tags. They are for the daemon's own parts, and no
// listener on a socket gets them.
//
// # Bytes
//
// An event is a tag, two line feeds and a MessagePack map in bin form; a frame is the MessagePack map
// {"head": {}, "body": event}, one after the other without a length (salt/utils/event.py, salt/transport/ipc.py).
// An event is encoded once; all readers share the bytes.
//
// # Who is slow
//
// Firing never waits. Each reader, in the process or on a socket, has a queue with a bound on events and bytes;
// what does not fit is dropped whole, counted, and logged once until that reader has caught up. A connected
// reader that takes nothing for StallLimit is cut. A Client is different: it reads ahead into its own queue and
// then leaves the rest to the daemon's.
//
// All readers see events in the same order. A program that has connected to the pub socket gets every event that
// is fired after that, even if the daemon has not come to accept the connection yet (on Linux; elsewhere there
// is a gap of the time that takes).
//
// # Odd
//
// A tag is told from the data by the first empty line only, so a tag must not hold one; other line feeds may be
// in it, as in Salt. Large events are trimmed by Salt's rule, which measures values by the memory that Python
// takes for them. Salt's own bus drops an event that a listener cannot decode at the listener; here it is not
// let in.
package eventbus
