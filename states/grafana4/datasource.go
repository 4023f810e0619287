package grafana4

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Datasource returns the state grafana4_datasource.
func Datasource() loader.Plugin {
	return state("grafana4_datasource", "get_datasource", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentDatasource).Secret("profile"),
			loader.F("present", m.presentDatasource).Secret("profile", "password", "basic_auth_password"),
		}
	})
}

type datasourceArgs struct {
	Name              string
	Type              any
	URL               any `name:"url"`
	Access            any `default:"None"`
	User              any `default:"None"`
	Password          any `default:"None"`
	Database          any `default:"None"`
	BasicAuth         any `default:"None"`
	BasicAuthUser     any `default:"None"`
	BasicAuthPassword any `default:"None"`
	TLSAuth           any `name:"tls_auth" default:"None"`
	JSONData          any `name:"json_data" default:"None"`
	IsDefault         any `default:"None"`
	WithCredentials   any `default:"None"`
	TypeLogoURL       any `name:"type_logo_url" default:"None"`
	Orgname           any `default:"None"`
	Profile           any `default:"'grafana'"`
}

func (a datasourceArgs) fields(now *data.Map) *data.Map {
	return filled(now, "name", a.Name, "type", a.Type, "url", a.URL, "access", a.Access, "user", a.User,
		"password", a.Password, "database", a.Database, "basicAuth", a.BasicAuth, "basicAuthUser", a.BasicAuthUser,
		"basicAuthPassword", a.BasicAuthPassword, "tlsAuth", a.TLSAuth, "jsonData", a.JSONData,
		"isDefault", a.IsDefault, "withCredentials", a.WithCredentials, "typeLogoUrl", a.TypeLogoURL)
}

func secret(field any) bool { return field == "password" || field == "basicAuthPassword" }

// stale returns the fields that differ. A password that Grafana does not show counts as right.
func stale(now, wanted *data.Map) *data.Map {
	before, after := &data.Map{}, &data.Map{}
	for k, v := range wanted.All() {
		had := now.Value(k)
		if data.Equal(had, v) || secret(k) && !data.Truth(had) {
			continue
		}
		if secret(k) {
			had, v = "(hidden)", "(hidden)"
		}
		before.Set(k, had)
		after.Set(k, v)
	}
	return change.When(after.Len() > 0, data.NewMap("old", before, "new", after))
}

// hidden returns fields without the passwords.
func hidden(fields *data.Map) *data.Map {
	all := fields.Clone()
	for k, v := range fields.All() {
		if secret(k) && v != nil {
			all.Set(k, "(hidden)")
		}
	}
	return all
}

// presentDatasource keeps a data source of Grafana.
//
// type, url
//
//	The kind (graphite, influxdb, ...) and the address.
//
// access, user, password, database, basic_auth, basic_auth_user, basic_auth_password, tls_auth, json_data,
// is_default, with_credentials, type_logo_url
//
//	Fields of Grafana's API. Those that are not given stay as they are.
//
// orgname
//
//	The organization. Default: the current one.
//
// profile
//
//	As in grafana4_user.present.
//
//	mysource:
//	  grafana4_datasource.present:
//	    - type: graphite
//	    - url: https://graphite.example.com
func (m *module) presentDatasource(ctx context.Context, a datasourceArgs) (change.Result, error) {
	profile, err := m.profile(ctx, a.Profile)
	if err != nil {
		return change.Result{}, err
	}
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) {
			return ask[*data.Map](ctx, m, "get_datasource", profile, nil, a.Name, a.Orgname)
		},
		Wants: func(now *data.Map) *data.Map {
			if now == nil {
				return hidden(a.fields(nil))
			}
			return stale(now, a.fields(now))
		},
		Apply: func(ctx context.Context, now *data.Map) error {
			if now == nil {
				return m.do(ctx, "create_datasource", profile, a.fields(nil))
			}
			return m.do(ctx, "update_datasource", profile, a.fields(now), now.Value("id"))
		},
		Texts: change.Texts{Same: "Data source " + a.Name + " already up-to-date"},
		Say: func(o change.Outcome[*data.Map]) any {
			switch {
			case o.Stage == change.StageWould && o.Before == nil:
				return "Datasource " + a.Name + " will be created"
			case o.Stage == change.StageWould:
				return "Datasource " + a.Name + " will be updated"
			case o.Stage == change.StageDone && o.Before == nil:
				return "New data source " + a.Name + " added"
			case o.Stage == change.StageDone:
				return "Data source " + a.Name + " updated"
			}
			return nil
		},
		Silent: true,
	}.Ensure(ctx)
}

type absentInArgs struct {
	Name    string
	Orgname any `default:"None"`
	Profile any `default:"'grafana'"`
}

// absentDatasource keeps a data source of Grafana deleted.
//
//	mysource:
//	  grafana4_datasource.absent
func (m *module) absentDatasource(ctx context.Context, a absentInArgs) (change.Result, error) {
	profile, err := m.profile(ctx, a.Profile)
	if err != nil {
		return change.Result{}, err
	}
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) {
			return ask[*data.Map](ctx, m, "get_datasource", profile, nil, a.Name, a.Orgname)
		},
		Wants: func(now *data.Map) *data.Map { return change.When(now != nil, data.NewMap(a.Name, "Absent")) },
		Apply: func(ctx context.Context, now *data.Map) error {
			return m.do(ctx, "delete_datasource", profile, nil, now.Value("id"))
		},
		Texts: change.Texts{Same: "Data source " + a.Name + " already absent",
			Would: "Datasource " + a.Name + " will be deleted", Done: "Data source " + a.Name + " was deleted"},
		Silent: true,
	}.Ensure(ctx)
}
