// Package eventbus implements the event bus of a master or minion, which delivers every event to
// every listener.
//
// Inside a daemon code fires events and subscribes to them:
//
//	bus := eventbus.New(eventbus.Options{Log: log})
//	sub := bus.Subscribe(eventbus.SubscribeOptions{Name: "reactor", Prefixes: []string{"salt/minion/"}})
//	defer sub.Close()
//	bus.Fire("salt/minion/web1/start", data.NewMap("id", "web1"))
//	event, err := sub.Next(ctx)
//
// Serve opens the two sockets for other programs on the host, Brine's and Salt's alike. Each
// listener on the pub socket receives every event, and events written to the pull socket are fired.
// Dial connects to them from command lines and scripts.
//
// Events that contain secrets are private: Options.Private selects their tags. Only subscriptions
// inside the daemon can receive them, never listeners on a socket.
//
// # Bytes
//
// An event is a tag, two line feeds and a MessagePack map in bin form. A frame is the MessagePack
// map {"head": {}, "body": event}; frames follow each other without a length prefix
// (salt/utils/event.py, salt/transport/ipc.py). An event is encoded once and all readers share the
// bytes.
//
// # Slow readers
//
// Firing never blocks. Each reader, in the process or on a socket, has a queue with limits on
// events and bytes. An event that does not fit is dropped whole and counted; the first drop is
// logged, and again once the reader has caught up. A reader on a socket gets an event with DroppedTag
// before it gets any event that was fired after a drop, so that it can fetch the lost data elsewhere.
// That event counts all drops so far, also those whose gap the reader has not reached, so a reader
// that is always too slow gets one per length of its queue. A connected reader that accepts nothing for
// StallLimit is disconnected. A Client reads ahead into its own queue and leaves the rest in the
// daemon's queue.
//
// All readers see events in the same order. A program that has connected to the pub socket receives
// every event fired after that. On Linux this holds even before the daemon has accepted the
// connection; elsewhere events fired before the accept are missed.
//
// # Details
//
// The first empty line separates the tag from the data, so a tag must not contain one. As in Salt,
// it may contain single line feeds. Large events are trimmed by Salt's rule, which measures values
// by their size in Python's memory. Salt's bus lets each listener drop events it cannot decode;
// this bus rejects them on receipt.
package eventbus
