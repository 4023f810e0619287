package grains

import (
	"context"
	"net"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/returners"
)

// metadata returns the data of the cloud's metadata server about this host if the option
// metadata_server_grains is set. On EC2 and compatible clouds this is the tree below latest/, on
// Azure and Google Compute Engine a single document (salt/grains/metadata.py, metadata_azure.py,
// metadata_gce.py). All requests together are limited to 5 seconds; after that the grains are those
// found so far.
func (c *collection) metadata(ctx context.Context) *data.Map {
	if v, ok := c.o.Opts.Get("metadata_server_grains"); !ok || v == false {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, metadataTime)
	defer cancel()
	s := &metadataServer{dial: c.dial, requests: metadataRequests}
	probe, err := s.connect(ctx)
	if err != nil {
		return nil
	}
	_ = probe.Close()
	found := data.NewMap()
	for _, ask := range []func(context.Context) (*data.Map, error){s.ec2, s.azure, s.gce} {
		m, err := ask(ctx)
		if err != nil {
			c.o.Log.WithError(err).Warn("Grains of the cloud's metadata server are missing")
		}
		update(found, m)
	}
	return found
}

// systemDial connects to a metadata server.
func systemDial(ctx context.Context, network, addr string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// ec2 walks the tree of EC2. If the server requires a token for latest/, it requests one first, as
// Salt 3007 does.
func (s *metadataServer) ec2(ctx context.Context) (*data.Map, error) {
	if _, err := s.get(ctx, "/latest/"); err != nil {
		token, err := s.ask(ctx, "PUT",
			"/latest/api/token", []string{"X-aws-ec2-metadata-token-ttl-seconds: 21600"})
		if err != nil || token.status != 200 || strings.ContainsAny(token.body, "\r\n") {
			return nil, nil
		}
		s.token = token.body
		if _, err := s.get(ctx, "/latest/"); err != nil {
			s.token = ""
			return nil, nil
		}
	}
	v, err := s.walk(ctx, "latest/", 0)
	m, _ := v.(*data.Map)
	return m, err
}

// walk returns the data below path, which is a directory if it ends in a slash: a map by name, or
// the text if it is not a list of names. A missing path is an empty map. The error is the one that
// ended the walk; the data found before it is returned too.
func (s *metadataServer) walk(ctx context.Context, path string, depth int) (any, error) {
	m := data.NewMap()
	list, err := s.get(ctx, "/"+path)
	if err != nil || depth > metadataDepth {
		return m, s.fatal(ctx)
	}
	if list.header.Get("Content-Type") == "application/octet-stream" {
		return list.body, nil
	}
	for _, line := range strings.Split(list.body, "\n") {
		name, v, err := s.entry(ctx, path, line, depth)
		m.Set(name, v)
		if err != nil {
			return m, err
		}
	}
	return m, nil
}

// entry returns name and value of one line of a list. The line may be a directory, which has a
// slash, is on the first level, or is a list according to its name. It may also be an index and a
// name joined by an equal sign, or the name of a text.
func (s *metadataServer) entry(
	ctx context.Context, path, line string, depth int,
) (name string, v any, err error) {
	switch key, value, pair := strings.Cut(line, "="); {
	case strings.HasSuffix(line, "/"):
		v, err = s.walk(ctx, join(path, line), depth+1)
		return strings.TrimSuffix(line, "/"), v, err
	case path == "latest/":
		v, err = s.walk(ctx, join(path, line+"/"), depth+1)
	case strings.HasSuffix(line, "dynamic"), strings.HasSuffix(line, "meta-data"):
		v, err = s.walk(ctx, join(path, line), depth+1)
	case pair:
		v, err = s.walk(ctx, join(path, key), depth+1)
		return value, v, err
	default:
		text, failed := s.get(ctx, "/"+join(path, line))
		if failed != nil {
			return line, nil, s.fatal(ctx)
		}
		v = text.body
	}
	return line, v, err
}

// join is Python's os.path.join for a path that is not absolute.
func join(dir, name string) string {
	if strings.HasPrefix(name, "/") {
		return strings.TrimLeft(name, "/")
	}
	if dir == "" || strings.HasSuffix(dir, "/") {
		return dir + name
	}
	return dir + "/" + name
}

// fatal returns the error that makes further requests impossible, or nil.
func (s *metadataServer) fatal(ctx context.Context) error {
	if s.requests <= 0 {
		return errMetadataRequests
	}
	return ctx.Err()
}

func (s *metadataServer) azure(ctx context.Context) (*data.Map, error) {
	a, err := s.get(ctx, "/metadata/instance?api-version=2020-09-01", "Metadata: true")
	if err != nil {
		return nil, nil
	}
	return document(a.body)
}

func (s *metadataServer) gce(ctx context.Context) (*data.Map, error) {
	if a, err := s.get(ctx, "/"); err != nil || a.header.Get("Metadata-Flavor") != "Google" {
		return nil, nil
	}
	a, err := s.get(ctx, "/computeMetadata/v1/?alt=json&recursive=true", "Metadata-Flavor: Google")
	if err != nil {
		return nil, err
	}
	return document(a.body)
}

// document parses a JSON object.
func document(text string) (*data.Map, error) {
	v, err := returners.ParseJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	m, _ := v.(*data.Map)
	return m, nil
}
