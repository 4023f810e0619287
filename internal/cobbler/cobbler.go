// Package cobbler asks a Cobbler for what it knows of a host, over XML-RPC.
package cobbler

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/rest"
	"github.com/brineproject/brine/internal/xmlrpc"
)

// defaultURL is the default of cobbler.url.
const defaultURL = "http://localhost/cobbler_api"

func address(opts *data.Map) string {
	if v, ok := opts.Get("cobbler.url"); ok {
		return data.Str(v)
	}
	return defaultURL
}

// Check returns an error if the option cobbler.url is invalid.
func Check(opts *data.Map) error {
	if err := rest.CheckURL(address(opts)); err != nil {
		return errors.New("cobbler.url: " + err.Error())
	}
	return nil
}

// Fetch returns the blended data of a host (get_blended_data), which need not be a dictionary. The
// options are cobbler.url, cobbler.user and cobbler.password; with a user it logs in first, as Salt
// does. The error contains neither the password nor a part of the address.
func Fetch(ctx context.Context, opts *data.Map, id string) (any, error) {
	if err := Check(opts); err != nil {
		return nil, err
	}
	c, err := rest.New(rest.Options{})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if user := opts.Value("cobbler.user"); data.Truth(user) {
		if _, err := xmlrpc.Call(ctx, c, address(opts), "login", user,
			opts.Value("cobbler.password")); err != nil {
			return nil, errors.New("log in: " + err.Error())
		}
	}
	return xmlrpc.Call(ctx, c, address(opts), "get_blended_data", nil, id)
}
