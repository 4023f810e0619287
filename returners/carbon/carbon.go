// Package carbon is Salt's returner of that name (salt/returners/carbon_return.py): the numbers in
// returns or events as metrics of a Carbon server of Graphite.
//
// Options are below carbon.: host and port are required; skip_on_error leaves out values that are no
// numbers, which are an error otherwise; mode is text (the default) or pickle. The name of a metric
// is the function, the minion's id with _ for dots, and the keys down to the number. An id is left
// out for functions of virt.
//
// Differences: mode text works, which in Salt fails under Python 3. In it, white space in a name
// becomes _, since it would separate metrics. The submitter of a job cannot choose the server.
package carbon

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/returners"
)

// Name is the returner's name.
const Name = "carbon"

// limit is the timeout of one delivery, and maxMetrics limits a return.
const (
	limit      = 30 * time.Second
	maxMetrics = 1_000_000
)

const doc = `
    Return data to a remote carbon server as metrics

    CLI Example:

        salt '*' status.loadavg --return carbon
    `

func known() []returners.Setting {
	return []returners.Setting{{Name: "host", Fixed: true}, {Name: "port", Fixed: true},
		{Name: "skip", Key: "skip_on_error"}, {Name: "mode", Default: "text"}}
}

// Plugin returns the returner for a minion.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: Name, New: func(env *loader.Env) (*loader.Module, error) {
		return returners.Module(doc, &sender{returners.EnvSource(env), time.Now}), nil
	}}
}

// OpenEvents returns an EventReturner for a master with these options.
func OpenEvents(opts *data.Map) returners.EventReturner {
	return &sender{returners.MapSource(opts), time.Now}
}

type sender struct {
	from returners.Source
	now  func() time.Time
}

// A metric is a number with a name.
type metric struct {
	name  string
	value float64
}

// Return sends the numbers of a return.
func (s *sender) Return(ctx context.Context, ret *data.Map) error {
	base := returners.FunText(ret.Value("fun"))
	if !strings.HasPrefix(base, "virt.") {
		base += "." + strings.ReplaceAll(ret.Text("id"), ".", "_")
	}
	o := s.from.Read(ret, known(), Name)
	return s.send(ctx, o, base, ret.Value("return"), o.Bool("skip"))
}

// ReturnEvents sends the numbers in the key data of events; other values are left out.
func (s *sender) ReturnEvents(ctx context.Context, events []returners.Event) error {
	o := s.from.Read(nil, known(), Name)
	for _, e := range events {
		if err := s.send(ctx, o, e.Tag, e.Data.Value("data"), true); err != nil {
			return fmt.Errorf("event %q: %w", e.Tag, err)
		}
	}
	return nil
}

// Close does nothing.
func (s *sender) Close() error { return nil }

func (s *sender) send(
	ctx context.Context, o *returners.Settings, base string, value any, skip bool,
) error {
	if o.Text("host") == "" || !o.Bool("port") {
		return errors.New("carbon.host or carbon.port is not set")
	}
	port, err := o.Int("port")
	if err != nil {
		return fmt.Errorf("carbon.%w", err)
	}
	metrics, err := walk(nil, base, value, skip)
	if err != nil {
		return fmt.Errorf("%w: %w", returners.ErrRefused, err)
	}
	body := text(metrics, s.now().Unix())
	if strings.EqualFold(o.Text("mode"), "pickle") {
		body = pickle(metrics, s.now().Unix())
	}
	at := net.JoinHostPort(o.Text("host"), strconv.Itoa(port))
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := deliver(ctx, at, body); err != nil {
		return fmt.Errorf("send metrics to %s: %w", at, err)
	}
	return nil
}

func deliver(ctx context.Context, at string, body []byte) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", at)
	if err != nil {
		return err
	}
	if end, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(end); err != nil {
			return errors.Join(err, conn.Close())
		}
	}
	_, err = conn.Write(body)
	return errors.Join(err, conn.Close())
}

// walk appends the metrics of a value.
func walk(metrics []metric, path string, value any, skip bool) ([]metric, error) {
	var err error
	switch v := value.(type) {
	case *data.Map:
		for k, e := range v.All() {
			if metrics, err = walk(metrics, path+"."+data.Str(k), e, skip); err != nil {
				return nil, err
			}
		}
		return metrics, nil
	case []any: // as in Salt, an element is both name and value
		for _, e := range v {
			if metrics, err = walk(metrics, path+"."+data.Str(e), e, skip); err != nil {
				return nil, err
			}
		}
		return metrics, nil
	}
	f, err := loader.Float(value)
	switch {
	case err != nil && skip:
		return metrics, nil
	case err != nil:
		return nil, fmt.Errorf("the value of metric %.200q is not a number", path)
	case len(metrics) >= maxMetrics:
		return nil, fmt.Errorf("it has more than %d metrics", maxMetrics)
	}
	return append(metrics, metric{path, f}), nil
}

// text returns metrics in Carbon's plain text protocol.
func text(metrics []metric, at int64) []byte {
	var b bytes.Buffer
	for _, m := range metrics {
		name := strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) || unicode.IsControl(r) {
				return '_'
			}
			return r
		}, m.name)
		fmt.Fprintf(&b, "%s %s %d\n", name, data.Repr(m.value), at)
	}
	return b.Bytes()
}

// pickle returns metrics in Carbon's pickle protocol: the length, and a list of
// (name, (time, value)) in version 2 of Python's pickle, which every Carbon reads.
func pickle(metrics []metric, at int64) []byte {
	b := []byte{0x80, 2, ']', '('}
	for _, m := range metrics {
		b = append(b, 'X')
		b = binary.LittleEndian.AppendUint32(b, uint32(len(m.name)))
		b = append(b, m.name...)
		b = append(b, 0x8a, 8) // a long of eight bytes
		b = binary.LittleEndian.AppendUint64(b, uint64(at))
		b = append(b, 'G')
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(m.value))
		b = append(b, 0x86, 0x86) // two pairs
	}
	b = append(b, 'e', '.')
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}
