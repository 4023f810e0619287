// Package http is Salt's runner http: requests of the master to web servers (salt/runners/http.py).
// It calls the execution module http with the master's options.
package http

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// Plugin returns the runner http.
func Plugin() loader.Plugin { return loader.Plugin{Name: "http", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("query", m.query).Secret("password", "auth", "data", "header_dict",
			"header_list", "params"),
		loader.F("update_ca_bundle", m.updateCaBundle),
	}}, nil
}

type queryArgs struct {
	URL    any
	Output any       `default:"True"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// query sends a request and returns the response. The arguments are those of the execution function
// http.query.
//
// output
//
//	Ignored; salt-run --quiet suppresses output.
//
// CLI Example:
//
//	salt-run http.query http://somelink.com/
//	salt-run http.query http://somelink.com/ method=POST params='key1=val1&key2=val2'
//	salt-run http.query http://somelink.com/ method=POST data='<xml>somecontent</xml>'
func (m *module) query(ctx context.Context, a queryArgs) (any, error) {
	if a.Output != true {
		m.env.Log.Warn("Output option has been deprecated. Please use --quiet.")
	}
	words := runners.Words(a.Kwargs)
	if !words.Has("node") {
		words.Set("node", "master")
	}
	return m.env.Registry("modules").Invoke(ctx, "http.query", []any{a.URL}, words)
}

type bundleArgs struct {
	Target     any `default:"None"`
	Source     any `default:"None"`
	MergeFiles any `default:"None"`
}

// updateCaBundle replaces the master's file of trusted certificates by one from a server.
//
// target
//
//	The file. Default: the option ca_bundle, or the system's file.
//
// source
//
//	Its URL. Default: the option ca_bundle_url, or https://curl.se/ca/cacert.pem.
//
// merge_files
//
//	A file with additional certificates, or a list of such files.
//
// CLI Example:
//
//	salt-run http.update_ca_bundle
//	salt-run http.update_ca_bundle target=/path/to/cacerts.pem
//	salt-run http.update_ca_bundle source=https://example.com/cacerts.pem merge_files=/path/to/mycert.pem
func (m *module) updateCaBundle(ctx context.Context, a bundleArgs) (any, error) {
	return m.env.Registry("modules").Invoke(ctx,
		"http.update_ca_bundle", []any{a.Target, a.Source, a.MergeFiles}, nil)
}
