package grains

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/returners"
)

// mdata returns the metadata of a Linux zone of SmartOS, from its programs mdata-list and mdata-get
// (salt/grains/mdata.py).
func (c *collection) mdata(ctx context.Context) *data.Map {
	h := c.host
	if !c.isZone() || h.which("mdata-list") == "" || h.which("mdata-get") == "" {
		return nil
	}
	m := data.NewMap()
	list, _ := h.output(ctx, "mdata-list")
	for _, name := range lines(list) {
		if name == "" || strings.HasPrefix(name, "ERROR:") || strings.HasPrefix(name, "sdc:") {
			continue
		}
		value, _ := h.output(ctx, "mdata-get", name)
		m.Set(strings.NewReplacer("-", "_", ":", "_").Replace(name), value)
	}
	if sdc := h.sdc(ctx); sdc.Len() > 0 {
		m.Set("sdc", sdc)
	}
	if m.Len() == 0 {
		return nil
	}
	return data.NewMap("mdata", m)
}

// sdc returns the metadata that every zone has; some of it is JSON.
func (h *host) sdc(ctx context.Context) *data.Map {
	m := data.NewMap()
	for i, name := range []string{
		"uuid", "server_uuid", "datacenter_name", "hostname", "dns_domain", "alias", // text
		"resolvers", "nics", "routes",
	} {
		text, _ := h.output(ctx, "mdata-get", "sdc:"+name)
		if strings.HasPrefix(text, "ERROR:") || strings.HasPrefix(text, "No metadata for ") {
			continue
		}
		if i < 6 {
			m.Set(name, text)
		} else if v, err := returners.ParseJSON([]byte(text)); err == nil {
			m.Set(name, v)
		}
	}
	return m
}
