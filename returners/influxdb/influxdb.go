// Package influxdb is Salt's returner of that name (salt/returners/influxdb_return.py): returns as
// points of the measurement returns in an InfluxDB of version 0.9 to 1.
//
// Options are below influxdb.: host, port, db, user and password, all required but user and password.
// Version 2 takes such points too, with a mapping of db to a bucket.
//
// Differences: a failure is an error. Version 0.8 and the master's job cache in InfluxDB are not
// supported. The submitter of a job cannot choose the server.
package influxdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/rest"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/returners"
)

// Name is the returner's name.
const Name = "influxdb"

// limit is the timeout of a request.
const limit = time.Minute

const doc = `
    Return data to a influxdb data store

    CLI Example:

        salt '*' test.ping --return influxdb
    `

func known() []returners.Setting {
	return []returners.Setting{{Name: "host", Fixed: true}, {Name: "port", Fixed: true},
		{Name: "db", Fixed: true}, {Name: "user", Fixed: true}, {Name: "password", Fixed: true}}
}

// Plugin returns the returner for a minion.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: Name, New: func(env *loader.Env) (*loader.Module, error) {
		return returners.Module(doc, &writer{returners.EnvSource(env)}), nil
	}}
}

type writer struct{ from returners.Source }

// Return stores a return.
func (w *writer) Return(ctx context.Context, ret *data.Map) error {
	o := w.from.Read(ret, known(), Name)
	if o.Text("host") == "" || o.Text("port") == "" || o.Text("db") == "" {
		return errors.New("influxdb.host, influxdb.port or influxdb.db is not set")
	}
	port, err := o.Int("port")
	if err != nil {
		return fmt.Errorf("influxdb.%w", err)
	}
	line, err := point(returners.Passed(ret))
	if err != nil {
		return fmt.Errorf("%w: %w", returners.ErrRefused, err)
	}
	c, err := rest.New(rest.Options{Timeout: limit, EnvironmentProxies: true})
	if err != nil {
		return err
	}
	defer c.Close()
	at := net.JoinHostPort(o.Text("host"), strconv.Itoa(port))
	a, err := c.Do(ctx, rest.Request{Method: "POST", URL: "http://" + at + "/write?db=" + url.QueryEscape(o.Text("db")),
		User: o.Text("user"), Password: o.Text("password"), Body: []byte(line),
		Header: map[string]string{"Content-Type": "application/octet-stream"}})
	if err == nil {
		err = a.Err()
	}
	if err != nil {
		return fmt.Errorf("store in InfluxDB on %s: %w", at, err)
	}
	return nil
}

// point returns a return in InfluxDB's line protocol.
func point(ret *data.Map) (string, error) {
	full := ret.Clone()
	full.Delete("return")
	returned, err := output.JSON(returners.Decoded(data.Clone(ret.Value("return"))))
	if err != nil {
		return "", err
	}
	rest, err := output.JSON(returners.Decoded(data.Clone(full)))
	if err != nil {
		return "", err
	}
	line := "returns"
	for _, name := range []string{"fun", "id", "jid"} {
		if v := tag(data.Str(ret.Value(name))); v != "" {
			line += "," + name + "=" + v
		}
	}
	return line + " full_ret=" + quoted(rest) + ",return=" + quoted(returned) + "\n", nil
}

// tag escapes the value of a tag.
func tag(s string) string {
	return strings.NewReplacer(`\`, `\\`, " ", `\ `, ",", `\,`, "=", `\=`, "\n", `\n`).Replace(s)
}

// quoted escapes the value of a field of text.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
