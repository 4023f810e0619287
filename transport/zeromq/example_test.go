package zeromq_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/zeromq"
)

// A replier on a free port of loopback, and a request to it.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	replier, err := zeromq.ListenReply(ctx, "tcp://127.0.0.1:0", transport.Options{})
	if err != nil {
		fmt.Println(err)
		stop()
		return
	}
	done := make(chan error, 1)
	go func() {
		done <- replier.Serve(ctx, func(_ context.Context, r transport.Request) { _ = r.Reply(bytes.ToUpper(r.Body())) })
	}()
	requester := zeromq.NewRequester(transport.Dialer{Addr: "tcp://" + replier.Addr().String()})
	reply, err := requester.Do(ctx, []byte("ping"))
	fmt.Println(string(reply), err)
	fmt.Println(requester.Close())
	stop()
	fmt.Println(<-done)
	// Output:
	// PING <nil>
	// <nil>
	// <nil>
}
