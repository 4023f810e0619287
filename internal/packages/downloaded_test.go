package packages_test

import (
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/modules/calls"
)

func TestAddDownloaded(t *testing.T) {
	all, at := &data.Map{}, time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	packages.AddDownloaded(all, calls.BinPkg{Name: "a", Version: "1"}, "/a-1", 7, at)
	packages.AddDownloaded(all, calls.BinPkg{Name: "a", Version: "2"}, "/a-2", 8,
		at.In(time.FixedZone("", 3600)))
	want := "{'a': {'1': {'path': '/a-1', 'size': 7, 'creation_date_time_t': 1767323045, 'creation_date_time': '2026-01-02T03:04:05'}, " +
		"'2': {'path': '/a-2', 'size': 8, 'creation_date_time_t': 1767323045, 'creation_date_time': '2026-01-02T04:04:05'}}}"
	if got := data.Repr(all); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestAlone(t *testing.T) {
	for _, c := range []struct {
		all  *data.Map
		want any
	}{
		{data.NewMap("a", "1"), "1"}, {data.NewMap("a", "1", "b", "2"),
			data.NewMap("a", "1", "b", "2")}, {&data.Map{}, &data.Map{}},
	} {
		if got := packages.Alone(c.all); !data.Equal(got, c.want) {
			t.Errorf("%s becomes %s", data.Repr(c.all), data.Repr(got))
		}
	}
}

func TestNoneInstalled(t *testing.T) {
	for _, c := range []struct {
		kwargs *data.Map
		want   bool
	}{
		{nil, false}, {data.NewMap("removed", false, "purge_desired", "false"), false},
		{data.NewMap("removed", "true"), true}, {data.NewMap("purge_desired", int64(1)), true},
	} {
		if packages.NoneInstalled(c.kwargs) != c.want {
			t.Errorf("%s: not %v", data.Repr(c.kwargs), c.want)
		}
	}
}
