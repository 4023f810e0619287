//go:build small && !ssl

package tcp

import (
	"context"
	"errors"
	"net"

	"github.com/brineproject/brine/data"
)

// A TLS holds TLS settings. This build does not support TLS, whose library would be a sixth of a
// small minion.
type TLS struct{}

var errNoTLS = errors.New("ssl: this small build has no TLS: build with -tags small,ssl")

// ServerTLS returns nil for nil, and else an error.
func ServerTLS(ssl *data.Map) (*TLS, error) { return noTLS(ssl) }

// ClientTLS returns nil for nil, and else an error.
func ClientTLS(ssl *data.Map) (*TLS, error) { return noTLS(ssl) }

// HostTLS returns nil for nil, and else an error.
func HostTLS(ssl *data.Map) (*TLS, error) { return noTLS(ssl) }

func noTLS(ssl *data.Map) (*TLS, error) {
	if ssl == nil {
		return nil, nil
	}
	return nil, errNoTLS
}

func (*TLS) server(context.Context, net.Conn) (net.Conn, error) { return nil, errNoTLS }

func (*TLS) client(context.Context, net.Conn, string) (net.Conn, error) { return nil, errNoTLS }
