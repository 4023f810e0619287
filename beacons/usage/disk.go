package usage

import (
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
)

// Disk returns the beacon diskusage.
func Disk() loader.Plugin {
	return beacons.Plugin("diskusage", "", func(env *loader.Env) (beacons.Beacon, error) {
		return disk{env}, beacons.Need(env, "ps.disk_partitions", "ps.disk_usage")
	})
}

type disk struct{ env *loader.Env }

func (disk) Validate(config any) (bool, string) {
	fault := beacons.NotList("diskusage", config)
	for _, item := range beacons.Items(config) {
		key, limit := item.At(0)
		if fault == "" {
			fault = percentFault("diskusage", limit)
		}
		if _, err := mountPattern(key); err != nil && fault == "" {
			fault = fmt.Sprintf("Configuration for diskusage beacon has an invalid mount: %v", err)
		}
	}
	return beacons.Verdict(fault)
}

// mountPattern returns the regular expression of a configured mount point.
func mountPattern(key any) (*match.Regexp, error) {
	pattern := data.Str(key)
	if !strings.HasSuffix(pattern, "$") {
		pattern += "$"
	}
	return match.CompileRegexp(pattern)
}

func (d disk) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	parts, err := loader.CallAs[[]any](ctx, d.env, "ps.disk_partitions", nil, data.NewMap("all", true))
	if err != nil {
		return nil, err
	}
	var events []*data.Map
	for _, item := range beacons.Items(config) {
		key, limit := item.At(0)
		re, err := mountPattern(key)
		if err != nil {
			return nil, err
		}
		for _, part := range parts {
			mount := mountOf(part)
			if !re.Match(mount) {
				continue
			}
			used, err := percent(ctx, d.env, "ps.disk_usage", []any{mount})
			if err != nil {
				d.env.Log.Warnf("%s is not a valid mount point.", mount)
				continue
			}
			most, err := beacons.Percent(limit)
			if err != nil {
				return nil, err
			}
			if used >= most {
				events = append(events, data.NewMap("diskusage", used, "mount", mount))
			}
		}
	}
	return events, nil
}

// mountOf returns the directory of a mounted file system.
func mountOf(part any) string {
	m, _ := part.(*data.Map)
	return m.Text("mountpoint")
}
