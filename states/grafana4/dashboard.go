package grafana4

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// Dashboard returns the state grafana4_dashboard.
func Dashboard() loader.Plugin {
	return state("grafana4_dashboard", "get_dashboard", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentDashboard).Secret("profile"),
			loader.F("present", m.presentDashboard).Secret("profile"),
		}
	})
}

type dashboardArgs struct {
	Name                     string
	BaseDashboardsFromPillar []any     `default:"None"`
	BasePanelsFromPillar     []any     `default:"None"`
	BaseRowsFromPillar       []any     `default:"None"`
	Dashboard                *data.Map `default:"None"`
	Orgname                  any       `default:"None"`
	Profile                  any       `default:"'grafana'"`
}

// presentDashboard keeps a dashboard of Grafana. name is its slug. Rows that are in Grafana only stay there.
//
// dashboard
//
//	A dictionary in the form of Grafana's JSON. annotation_tags is a list of tags of annotations in the
//	data source
//	graphite. Panels without span share what is left of their row.
//
// base_dashboards_from_pillar, base_rows_from_pillar, base_panels_from_pillar
//
//	Keys of the pillar with defaults for the dashboard, its rows and its panels. Those of
//	grafana_dashboards:default, grafana_rows:default and grafana_panels:default always count.
//
// orgname
//
//	The organization. Default: the current one.
//
// profile
//
//	As in grafana4_user.present.
//
//	webhealth:
//	  grafana4_dashboard.present:
//	    - dashboard:
//	        rows:
//	          - title: Health
//	            panels:
//	              - title: Load
func (m *module) presentDashboard(ctx context.Context, a dashboardArgs) (change.Result, error) {
	profile, err := m.profile(ctx, a.Profile)
	if err != nil {
		return change.Result{}, err
	}
	b := &base{m: m}
	wanted, err := b.dashboard(ctx, a)
	if err != nil {
		return change.Result{}, err
	}
	if err := m.pin(ctx, wanted); err != nil {
		return change.Result{}, err
	}
	numberPanels(wanted)
	more := &data.Map{}
	if len(b.warnings) > 0 {
		more.Set("warnings", b.warnings)
	}
	title := "Dashboard " + a.Name
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) {
			return ask[*data.Map](ctx, m, "get_dashboard", profile, nil, a.Name, a.Orgname)
		},
		Wants: func(now *data.Map) *data.Map {
			if now == nil {
				return data.NewMap("new", title+" created.")
			}
			next := cleaned(withRows(wanted, now))
			old := cleaned(now)
			return change.When(!data.Equal(next, old), difference(next, old))
		},
		Apply: func(ctx context.Context, now *data.Map) error {
			verb, next := "create", wanted
			if now != nil {
				verb, next = "update", withRows(wanted, now)
			}
			v, err := ask[*data.Map](ctx, m, "create_update_dashboard", profile,
				data.NewMap("dashboard", next, "overwrite", true))
			if err == nil && v.Text("status") != "success" {
				err = change.Reason("Failed to " + verb + " dashboard " + a.Name + ", response=" + data.Str(v))
			}
			return err
		},
		Texts: change.Texts{Same: "Dashboard present"},
		Say: func(o change.Outcome[*data.Map]) any {
			switch {
			case o.Stage == change.StageWould && o.Before == nil:
				return title + " is set to be created."
			case o.Stage == change.StageWould:
				text, err := pyjson.Append(nil, o.Changes, pyjson.Options{Lines: true, Step: "    ", Comma: ",",
					Colon: ": ",
					ASCII: true})
				if err != nil {
					text = []byte(data.Repr(o.Changes))
				}
				return title + " is set to be updated, changes=" + string(text)
			case o.Stage == change.StageDone && o.Before == nil:
				return title + " created."
			case o.Stage == change.StageDone:
				return title + " updated."
			}
			return nil
		},
		Silent: true,
		Trust:  true,
		More:   more,
	}.Ensure(ctx)
}

// absentDashboard keeps a dashboard of Grafana deleted.
//
//	webhealth:
//	  grafana4_dashboard.absent
func (m *module) absentDashboard(ctx context.Context, a absentInArgs) (change.Result, error) {
	profile, err := m.profile(ctx, a.Profile)
	if err != nil {
		return change.Result{}, err
	}
	title := "Dashboard " + a.Name
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) {
			return ask[*data.Map](ctx, m, "get_dashboard", profile, nil, a.Name, a.Orgname)
		},
		Wants: func(now *data.Map) *data.Map {
			return change.When(now != nil, data.NewMap("new", title+" deleted."))
		},
		Apply: func(ctx context.Context, _ *data.Map) error {
			return m.do(ctx, "delete_dashboard", profile, nil, a.Name)
		},
		Texts: change.Texts{Same: "Dashboard absent", Would: title + " is set to be deleted.",
			Done: title + " deleted."},
		Silent: true,
	}.Ensure(ctx)
}

// base reads defaults from the pillar, and keeps warnings of keys that are not there.
type base struct {
	m        *module
	warnings []any
}

// inherit returns the defaults of a kind from the pillar, and the dictionary over them.
func (b *base) inherit(ctx context.Context, kind string, keys []any, over *data.Map) ([]*data.Map, error) {
	first := "grafana_" + kind + "s:default"
	var all []*data.Map
	for _, k := range append([]any{first}, keys...) {
		key := data.Str(k)
		v, err := calls.PillarGet[any](ctx, b.m.env, key)
		if err != nil {
			return nil, err
		}
		one, _ := v.(*data.Map)
		if one.Len() > 0 {
			all = append(all, one)
			continue
		}
		warning := `Cannot find ` + kind + ` pillar "` + key + `".`
		if key != first && !slices.Contains(data.Texts(b.warnings), warning) {
			b.warnings = append(b.warnings, warning)
		}
	}
	return append(all, over), nil
}

// merged returns dictionaries merged, the later over the earlier ones.
func merged(all []*data.Map) *data.Map {
	result := &data.Map{}
	for _, one := range all {
		result.Update(data.Clone(one).(*data.Map))
	}
	return result
}

// maps returns the dictionaries in a list of a dictionary.
func maps(of *data.Map, key string) []*data.Map {
	var all []*data.Map
	for _, v := range listOf(of, key) {
		if m, ok := v.(*data.Map); ok {
			all = append(all, m)
		}
	}
	return all
}

func listOf(of *data.Map, key string) []any {
	list, _ := of.Value(key).([]any)
	return list
}

// dashboard returns the wanted dashboard.
func (b *base) dashboard(ctx context.Context, a dashboardArgs) (*data.Map, error) {
	given := a.Dashboard
	if given == nil {
		given = &data.Map{}
	}
	all, err := b.inherit(ctx, "dashboard", a.BaseDashboardsFromPillar, given)
	if err != nil {
		return nil, err
	}
	wanted, tags := merged(all), []any{}
	for _, one := range all {
		for _, tag := range listOf(one, "tags") {
			if !slices.ContainsFunc(tags, func(v any) bool { return data.Equal(v, tag) }) {
				tags = append(tags, tag)
			}
		}
	}
	wanted.Set("tags", tags)
	if !wanted.Has("title") {
		wanted.Set("title", a.Name)
	}
	rows := maps(wanted, "rows")
	for i, row := range rows {
		if all, err = b.inherit(ctx, "row", a.BaseRowsFromPillar, row); err != nil {
			return nil, err
		}
		rows[i] = merged(all)
		panels := maps(rows[i], "panels")
		for j, panel := range panels {
			if all, err = b.inherit(ctx, "panel", a.BasePanelsFromPillar, panel); err != nil {
				return nil, err
			}
			panels[j] = merged(all)
		}
		if rows[i].Has("panels") {
			rows[i].Set("panels", values(panels))
		}
		span(panels)
	}
	if wanted.Has("rows") {
		wanted.Set("rows", values(rows))
	}
	annotate(wanted)
	return wanted, nil
}

func values(list []*data.Map) []any {
	all := make([]any, len(list))
	for i, m := range list {
		all[i] = m
	}
	return all
}

// Widths of panels, in columns.
const fullSpan, defaultSpan = 12, 2.5

func width(panel *data.Map) float64 {
	if f, err := loader.Float(panel.Value("span")); err == nil && panel.Has("span") {
		return f
	}
	return defaultSpan
}

// span gives panels without a width their share of what is left of their line.
func span(panels []*data.Map) {
	var line []*data.Map
	fill := func() {
		left, open := float64(fullSpan), 0.0
		for _, p := range line {
			if p.Has("span") {
				left -= width(p)
			} else {
				open++
			}
		}
		for _, p := range line {
			if !p.Has("span") {
				p.Set("span", left/open)
			}
		}
		line = nil
	}
	used := 0.0
	for _, p := range panels {
		w := width(p)
		if used+w > fullSpan {
			fill()
			used = 0
		}
		line, used = append(line, p), used+w
	}
	fill()
}

// annotate replaces annotation_tags by annotations.
func annotate(dashboard *data.Map) {
	if !dashboard.Has("annotation_tags") {
		return
	}
	list := []any{}
	for _, tag := range listOf(dashboard, "annotation_tags") {
		list = append(list, data.NewMap("datasource", "graphite", "enable", false, "iconColor", "#C0C6BE",
			"iconSize", int64(13), "lineColor", "rgba(255, 96, 96, 0.592157)", "name", tag, "showLine", true, "tags",
			tag))
	}
	dashboard.Delete("annotation_tags")
	dashboard.Set("annotations", data.NewMap("enable", true, "list", list))
}

// pin moves the rows whose titles the pillar grafana_pinned_rows lists to the front.
func (m *module) pin(ctx context.Context, dashboard *data.Map) error {
	v, err := calls.PillarGet[any](ctx, m.env, "grafana_pinned_rows")
	if err != nil || !data.Truth(v) || !dashboard.Has("rows") {
		return err
	}
	var titles []string
	for _, t := range data.TextsOf(v) {
		titles = append(titles, strings.ToLower(t))
	}
	var first, rest []*data.Map
	for _, row := range maps(dashboard, "rows") {
		if row.Has("title") && slices.Contains(titles, strings.ToLower(row.Text("title"))) {
			first = append(first, row)
		} else {
			rest = append(rest, row)
		}
	}
	dashboard.Set("rows", values(append(first, rest...)))
	return nil
}

// numberPanels gives the panels their numbers, from 1 on.
func numberPanels(dashboard *data.Map) {
	n := int64(1)
	for _, row := range maps(dashboard, "rows") {
		for _, panel := range maps(row, "panels") {
			panel.Set("id", n)
			n++
		}
	}
}

// withRows returns the wanted dashboard with the rows that only the present one has.
func withRows(wanted, now *data.Map) *data.Map {
	next := data.Clone(wanted).(*data.Map)
	var titles []any
	rows := maps(next, "rows")
	for _, row := range rows {
		titles = append(titles, row.Value("title"))
	}
	for _, row := range maps(now, "rows") {
		title := row.Value("title")
		if !slices.ContainsFunc(titles, func(v any) bool { return data.Equal(v, title) }) {
			rows = append(rows, data.Clone(row).(*data.Map))
		}
	}
	if len(rows) > 0 {
		next.Set("rows", values(rows))
	}
	numberPanels(next)
	return next
}

// cleaned returns a dashboard without what does not count in a comparison.
func cleaned(dashboard *data.Map) *data.Map {
	d := data.Clone(dashboard).(*data.Map)
	for _, field := range []string{"id", "uid", "originalTitle", "version"} {
		d.Delete(field)
	}
	for _, row := range maps(d, "rows") {
		panels := maps(row, "panels")
		for i, panel := range panels {
			for _, field := range []string{"grid", "mode", "tooltip"} {
				panel.Delete(field)
			}
			for _, target := range maps(panel, "targets") {
				target.Delete("textEditor")
			}
			panels[i] = stripped(panel)
		}
		if row.Has("panels") {
			row.Set("panels", values(panels))
		}
	}
	return d
}

// stripped returns the entries of a dictionary whose values are true in Python.
func stripped(m *data.Map) *data.Map {
	kept := &data.Map{}
	for k, v := range m.All() {
		if data.Truth(v) {
			kept.Set(k, v)
		}
	}
	return kept
}

// keys returns how the keys of two dictionaries differ.
func keys(next, old *data.Map) (changed, added, removed []any) {
	for k, v := range next.All() {
		had, ok := old.Get(k)
		switch {
		case !ok:
			added = append(added, k)
		case !data.Equal(had, v):
			changed = append(changed, k)
		}
	}
	for k := range old.All() {
		if !next.Has(k) {
			removed = append(removed, k)
		}
	}
	return changed, added, removed
}

// fields returns how the keys of two dictionaries differ, as the changes show it.
func fields(next, old *data.Map) *data.Map {
	changed, added, removed := keys(next, old)
	return stripped(data.NewMap("changed", changed, "added", added, "removed", removed))
}

// members returns how the dictionaries in two dictionaries differ, as the changes show it.
func members(next, old *data.Map) *data.Map {
	changed, added, removed := keys(next, old)
	d := stripped(data.NewMap("added", added, "removed", removed))
	each := &data.Map{}
	for _, k := range changed {
		a, _ := next.Value(k).(*data.Map)
		b, _ := old.Value(k).(*data.Map)
		each.Set(k, fields(a, b))
	}
	if each.Len() > 0 {
		d.Set("changed", each)
	}
	return d
}

// difference returns the changes from one dashboard to another.
func difference(next, old *data.Map) *data.Map {
	rows := func(of *data.Map) *data.Map {
		all := &data.Map{}
		for _, row := range maps(of, "rows") {
			if row.Has("title") {
				all.Set(row.Value("title"), row)
			}
		}
		return all
	}
	panels := func(of *data.Map) *data.Map {
		all := &data.Map{}
		for _, row := range maps(of, "rows") {
			for _, panel := range maps(row, "panels") {
				if panel.Has("id") {
					all.Set(panel.Value("id"), panel)
				}
			}
		}
		return all
	}
	return data.NewMap("dashboard", fields(next, old), "rows", members(rows(next), rows(old)),
		"panels", members(panels(next), panels(old)))
}
