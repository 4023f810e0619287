package aptpkg

import (
	"context"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type refreshArgs struct {
	CacheValidTime any       `default:"0"`
	Failhard       any       `default:"False"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// refreshDB has apt update its package lists. It returns the result for each list: True if it was
// fetched, None if it was current, False if it was not available.
//
// cache_valid_time : 0
//
//	Do nothing if the lists are younger than this number of seconds.
//
// failhard : False
//
//	Fail if a list is not available.
//
// CLI Example:
//
//	salt '*' pkg.refresh_db
func (m *module) refreshDB(ctx context.Context, a refreshArgs) (any, error) {
	return m.refresh(ctx, a.CacheValidTime, packages.True(a.Failhard))
}

// refresh updates the lists unless they are younger than valid, a number of seconds.
func (m *module) refresh(ctx context.Context, valid any, failhard bool) (*data.Map, error) {
	packages.Refreshed(m.env)
	if data.Truth(valid) && m.fresh(valid) {
		return &data.Map{}, nil
	}
	o, err := m.apt(ctx, calls.Run{}, "apt-get", "-q", "update")
	if err != nil {
		return nil, err
	}
	if o.Retcode != 0 {
		return nil, loader.Execution("%s", failure(o))
	}
	lists, failed := parseUpdate(o.Stdout)
	if failhard && len(failed) > 0 {
		return nil, loader.Execution("Error getting repos: %s", strings.Join(failed, ", "))
	}
	return lists, nil
}

// fresh reports whether the lists are younger than a number of seconds.
func (m *module) fresh(valid any) bool {
	seconds, err := loader.Float(valid)
	if err != nil {
		m.env.Log.Warnf("expected integer for cache_valid_time parameter, failed with: %v", err)
		return false
	}
	info, err := os.Stat(m.path("/var/lib/apt/lists"))
	if err != nil {
		m.env.Log.Warnf("could not stat cache directory due to: %v", err)
		return false
	}
	return time.Since(info.ModTime()).Seconds() < seconds
}

// sized matches the size at the end of a line about a fetched list.
var sized = regexp.MustCompile(` \[.+B\]$`)

// parseUpdate parses the output of apt-get update for each list. It also returns the lists that
// were not available.
func parseUpdate(text string) (lists *data.Map, failed []string) {
	lists = &data.Map{}
	for line := range strings.Lines(text) {
		cols := strings.Fields(line)
		if len(cols) == 0 {
			continue
		}
		list := strings.Join(cols[1:], " ")
		switch word := cols[0]; {
		case strings.Contains(word, "Get"):
			lists.Set(sized.ReplaceAllString(list, ""), true)
		case strings.Contains(word, "Ign"):
			lists.Set(list, false)
		case strings.Contains(word, "Hit"):
			lists.Set(list, nil)
		case strings.Contains(word, "Err"):
			lists.Set(list, false)
			failed = append(failed, list)
		}
	}
	return lists, failed
}
