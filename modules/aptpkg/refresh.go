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
)

type refreshArgs struct {
	CacheValidTime any       `default:"0"`
	Failhard       any       `default:"False"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// refreshDB has apt fetch its lists of packages. It returns what became of each: True for one that was fetched, None for one that was
// fresh, False for one that was not to be had.
//
// cache_valid_time : 0
//
//	Do nothing if the lists are younger than so many seconds.
//
// failhard : False
//
//	Fail where one list was not to be had.
//
// CLI Example:
//
//	salt '*' pkg.refresh_db
func (m *module) refreshDB(ctx context.Context, a refreshArgs) (any, error) {
	return m.refresh(ctx, a.CacheValidTime, packages.True(a.Failhard))
}

// refresh fetches the lists unless they are younger than valid, a number of seconds.
func (m *module) refresh(ctx context.Context, valid any, failhard bool) (*data.Map, error) {
	packages.Refreshed(m.env)
	if data.Truth(valid) && m.fresh(valid) {
		return &data.Map{}, nil
	}
	o, err := m.apt(ctx, words("apt-get", "-q", "update"))
	if err != nil {
		return nil, err
	}
	if o.code != 0 {
		return nil, loader.Execution("%s", o.failure())
	}
	lists, failed := parseUpdate(o.stdout)
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

// sized is the size at the end of a line about a list that was fetched.
var sized = regexp.MustCompile(` \[.+B\]$`)

// parseUpdate reads what apt-get update says of each list, and returns those that were not to be had, too.
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
