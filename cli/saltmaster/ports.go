package saltmaster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/master"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/tcp"
	"github.com/brineproject/brine/transport/zeromq"
)

// Ports returns the ports of a master: those of option transport and the additional ones of
// transport_opts. The error reports a fault in these options or in ssl.
func Ports(cfg *config.Master) (master.Ports, error) {
	main, err := portsOf(cfg.Transport, cfg)
	if err != nil {
		return master.Ports{}, err
	}
	others, err := additionalBranches(cfg)
	if err != nil {
		return main, fmt.Errorf("transport_opts: %w", err)
	}
	if len(others) == 0 {
		return main, nil
	}
	return master.Ports{
		Reply: func(ctx context.Context, endpoint string, o transport.Options) (transport.Replier, error) {
			first, err := main.Reply(ctx, endpoint, o)
			if err != nil {
				return nil, err
			}
			return others.reply(ctx, first, o)
		},
		Publish: func(ctx context.Context, endpoint string, o transport.Options) (master.PublishPort, error) {
			first, err := main.Publish(ctx, endpoint, o)
			if err != nil {
				return nil, err
			}
			return others.publish(ctx, first, o)
		},
		Submit: main.Submit,
	}, nil
}

// portsOf returns the ports of one transport.
func portsOf(name string, cfg *config.Master) (master.Ports, error) {
	ssl, _ := cfg.Map().Value("ssl").(*data.Map)
	if name != "tcp" {
		return zeroMQ(), nil
	}
	t, err := tcp.ServerTLS(ssl)
	return plainTCP(t), err
}

func zeroMQ() master.Ports {
	return master.Ports{
		Reply: func(ctx context.Context, endpoint string, o transport.Options) (transport.Replier, error) {
			return zeromq.ListenReply(ctx, endpoint, o)
		},
		Publish: func(ctx context.Context, endpoint string, o transport.Options) (master.PublishPort, error) {
			return zeromq.ListenPub(ctx, endpoint, o)
		},
		Submit: func(ctx context.Context, endpoint string, o transport.Options) (master.Service, error) {
			p, err := zeromq.ListenPull(ctx, endpoint, o)
			return submitZeroMQ{p}, err
		},
	}
}

func plainTCP(t *tcp.TLS) master.Ports {
	return master.Ports{
		Reply: func(ctx context.Context, endpoint string, o transport.Options) (transport.Replier, error) {
			return tcp.ListenReply(ctx, endpoint, o, t)
		},
		Publish: func(ctx context.Context, endpoint string, o transport.Options) (master.PublishPort, error) {
			return tcp.ListenPub(ctx, endpoint, o, t)
		},
		Submit: func(ctx context.Context, endpoint string, o transport.Options) (master.Service, error) {
			p, err := tcp.ListenPull(ctx, endpoint, o)
			return submitTCP{p}, err
		},
	}
}

// submitZeroMQ is the socket by which Salt's command line detects a running master. Input is
// dropped, because publications are submitted on the request port.
type submitZeroMQ struct{ *zeromq.Puller }

// Serve runs the socket until ctx ends.
func (p submitZeroMQ) Serve(ctx context.Context) error {
	return p.Puller.Serve(ctx, func([][]byte) {})
}

// submitTCP is submitZeroMQ for transport tcp.
type submitTCP struct{ *tcp.Puller }

// Serve runs the socket until ctx ends.
func (p submitTCP) Serve(ctx context.Context) error {
	return p.Puller.Serve(ctx, func(data.Raw) {})
}

// A branch is a transport beside the main one (salt/utils/channel.py, iter_transport_opts).
type branch struct {
	name               string
	ports              master.Ports
	host               string
	retPort, publisher int
}

type branches []branch

// additionalBranches parses transport_opts: for each transport the options that differ from the
// master's.
func additionalBranches(cfg *config.Master) (branches, error) {
	opts, _ := cfg.Map().Value("transport_opts").(*data.Map)
	var all branches
	if opts == nil {
		return nil, nil
	}
	for k, v := range opts.All() {
		b := branch{name: data.Str(k), host: cfg.Interface, retPort: cfg.RetPort,
			publisher: cfg.PublishPort}
		own, _ := v.(*data.Map)
		if err := b.read(own); err != nil {
			return nil, config.Below(b.name, err)
		}
		if b.name == cfg.Transport && own.Len() == 0 {
			continue // the form in Salt's documentation
		}
		if b.name == cfg.Transport {
			return nil, fmt.Errorf("%s is the master's transport already: leave it out, and set its ports by ret_port and publish_port", b.name)
		}
		var err error
		if b.ports, err = portsOf(b.name, cfg); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

// read parses the options of a branch.
func (b *branch) read(own *data.Map) error {
	if b.name != "zeromq" && b.name != "tcp" {
		return errors.New("unsupported transport; supported are zeromq, tcp")
	}
	if own == nil {
		own = &data.Map{}
	}
	for k, v := range own.All() {
		n, _ := v.(int64)
		switch name := data.Str(k); {
		case name == "interface":
			b.host = data.Str(v)
		case name != "ret_port" && name != "publish_port":
			return fmt.Errorf("option %.40q cannot differ from the master's; those that can are interface, publish_port, ret_port", name)
		case n < 1 || n > 65535:
			return fmt.Errorf("%s: %s is not a port", name, data.Str(v))
		case name == "ret_port":
			b.retPort = int(n)
		default:
			b.publisher = int(n)
		}
	}
	return nil
}

func (b *branch) endpoint(port int) string {
	return "tcp://" + net.JoinHostPort(strings.Trim(b.host, "[]"), strconv.Itoa(port))
}

// reply opens the request ports of the branches in addition to the first.
func (bs branches) reply(
	ctx context.Context, first transport.Replier, o transport.Options,
) (transport.Replier, error) {
	all := &repliers{Replier: first}
	for _, b := range bs {
		r, err := b.ports.Reply(ctx, b.endpoint(b.retPort), o)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("transport_opts: %s: %w", b.name, err), all.Close())
		}
		all.others = append(all.others, otherReplier{r, b.publisher})
	}
	return all, nil
}

// publish opens the publish ports of the branches in addition to the first.
func (bs branches) publish(
	ctx context.Context, first master.PublishPort, o transport.Options,
) (master.PublishPort, error) {
	all := &publishers{PublishPort: first}
	for _, b := range bs {
		p, err := b.ports.Publish(ctx, b.endpoint(b.publisher), o)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("transport_opts: %s: %w", b.name, err), all.Close())
		}
		all.others = append(all.others, p)
	}
	return all, nil
}

// repliers combines the request ports of several transports; Addr is that of the first.
type repliers struct {
	transport.Replier
	others []otherReplier
}

// An otherReplier is a request port whose minions use another publish port than the master's.
type otherReplier struct {
	transport.Replier
	publisher int
}

// otherRequest reports to the sign-in the publish port of its sender.
type otherRequest struct {
	transport.Request
	publisher int
}

var _ channel.PortRequest = otherRequest{}

// PublishPort returns the port.
func (r otherRequest) PublishPort() int { return r.publisher }

// Serve answers the requests of all ports until ctx ends.
func (r *repliers) Serve(ctx context.Context, h transport.Handler) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return r.Replier.Serve(ctx, h) })
	for _, o := range r.others {
		group.Go(func() error {
			return o.Serve(ctx, func(ctx context.Context, q transport.Request) { h(ctx, otherRequest{q, o.publisher}) })
		})
	}
	return group.Wait()
}

// Close closes all ports.
func (r *repliers) Close() error {
	errs := []error{r.Replier.Close()}
	for _, o := range r.others {
		errs = append(errs, o.Close())
	}
	return errors.Join(errs...)
}

// publishers combines the publish ports of several transports; Addr is that of the first.
type publishers struct {
	master.PublishPort
	others []master.PublishPort
}

func (p *publishers) each() []master.PublishPort {
	return append([]master.PublishPort{p.PublishPort}, p.others...)
}

// Serve runs all ports until ctx ends.
func (p *publishers) Serve(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, port := range p.each() {
		group.Go(func() error { return port.Serve(ctx) })
	}
	return group.Wait()
}

// Publish sends m on all ports.
func (p *publishers) Publish(m transport.Message) {
	for _, port := range p.each() {
		port.Publish(m)
	}
}

// Peers returns the total number of subscribers.
func (p *publishers) Peers() (n int) {
	for _, port := range p.each() {
		n += port.Peers()
	}
	return n
}

// SetIdentify sets the function that identifies subscribers on the ports that support it.
func (p *publishers) SetIdentify(f func(hello []byte) (id string, err error)) {
	for _, port := range p.each() {
		if i, ok := port.(master.Identifier); ok {
			i.SetIdentify(f)
		}
	}
}

// WatchPeers makes all ports report their connections to w.
func (p *publishers) WatchPeers(w transport.PeerWatch) {
	for _, port := range p.each() {
		port.WatchPeers(w)
	}
}

// Close closes all ports.
func (p *publishers) Close() error {
	var errs []error
	for _, port := range p.each() {
		errs = append(errs, port.Close())
	}
	return errors.Join(errs...)
}
