package grafana4

import (
	"context"
	"net/http"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type profileArgs struct {
	Profile any `default:"'grafana'"`
}

type fieldsArgs struct {
	profileArgs
	Fields *data.Map `kwargs:"kwargs"`
}

type orgArgs struct {
	Orgname any `default:"None"`
	profileArgs
}

type orgFieldsArgs struct {
	orgArgs
	Fields *data.Map `kwargs:"kwargs"`
}

type userArgs struct {
	Userid string
	profileArgs
}

type userFieldsArgs struct {
	userArgs
	Fields *data.Map `kwargs:"kwargs"`
}

type orgIDArgs struct {
	Orgid string
	profileArgs
}

type orgIDFieldsArgs struct {
	orgIDArgs
	Fields *data.Map `kwargs:"kwargs"`
}

type userOrgArgs struct {
	Userid string
	Orgid  string
	profileArgs
}

type orgUserArgs struct {
	Userid string
	orgArgs
}

type orgUserFieldsArgs struct {
	orgUserArgs
	Fields *data.Map `kwargs:"kwargs"`
}

type datasourceArgs struct {
	Datasourceid string
	orgArgs
}

type datasourceFieldsArgs struct {
	datasourceArgs
	Fields *data.Map `kwargs:"kwargs"`
}

type slugArgs struct {
	Slug string
	orgArgs
}

type nameArgs struct {
	Name string
	orgArgs
}

type loginArgs struct {
	Login string
	profileArgs
}

type orgNameArgs struct {
	Name string
	profileArgs
}

type switchArgs struct {
	Orgname string
	profileArgs
}

// getUsers returns all users. profile is, for each function, the name of an option of the minion or a
// dictionary with grafana_url and grafana_token or grafana_user and grafana_password; grafana_timeout is 3
// seconds by default.
//
// CLI Example:
//
//	salt '*' grafana4.get_users
func (m *module) getUsers(ctx context.Context, a profileArgs) (any, error) {
	return m.ask(ctx, a.Profile, http.MethodGet, nil, "users")
}

// getUserData returns what Grafana knows of a user.
//
// CLI Example:
//
//	salt '*' grafana4.get_user_data <userid>
func (m *module) getUserData(ctx context.Context, a userArgs) (any, error) {
	return m.ask(ctx, a.Profile, http.MethodGet, nil, "users", a.Userid)
}

// createUser creates a user with the fields login, password, email and name, and returns Grafana's answer.
//
// CLI Example:
//
//	salt '*' grafana4.create_user login=<login> password=<password> email=<email>
func (m *module) createUser(ctx context.Context, a fieldsArgs) (any, error) {
	return m.ask(ctx, a.Profile, http.MethodPost, a.Fields, "admin", "users")
}

// updateUser changes the fields login, email, name and theme of a user, and returns Grafana's answer.
//
// CLI Example:
//
//	salt '*' grafana4.update_user <userid> login=<login> email=<email>
func (m *module) updateUser(ctx context.Context, a userFieldsArgs) (any, error) {
	return m.ask(ctx, a.Profile, http.MethodPut, a.Fields, "users", a.Userid)
}

// updateUserPassword sets the password of a user, and returns Grafana's answer.
//
// CLI Example:
//
//	salt '*' grafana4.update_user_password <userid> password=<password>
func (m *module) updateUserPassword(ctx context.Context, a userFieldsArgs) (any, error) {
	return m.ask(ctx, a.Profile, http.MethodPut, a.Fields, "admin", "users", a.Userid, "password")
}

// updateUserPermissions sets whether a user is an administrator of the server, and returns Grafana's answer.
//
// CLI Example:
//
//	salt '*' grafana4.update_user_permissions <userid> isGrafanaAdmin=<true|false>
func (m *module) updateUserPermissions(ctx context.Context, a userFieldsArgs) (any, error) {
	return m.ask(ctx, a.Profile, http.MethodPut, a.Fields, "admin", "users", a.Userid, "permissions")
}

// deleteUser deletes a user, and returns Grafana's answer.
//
// CLI Example:
//
//	salt '*' grafana4.delete_user <userid>
func (m *module) deleteUser(ctx context.Context, a userArgs) (any, error) {
	return m.ask(ctx, a.Profile, http.MethodDelete, nil, "admin", "users", a.Userid)
}

// getUserOrgs returns the organizations of a user.
//
// CLI Example:
//
//	salt '*' grafana4.get_user_orgs <userid>
func (m *module) getUserOrgs(ctx context.Context, a userArgs) (any, error) {
	return m.ask(ctx, a.Profile, http.MethodGet, nil, "users", a.Userid, "orgs")
}

// deleteUserOrg takes a user out of an organization, and returns Grafana's answer.
//
// CLI Example:
//
//	salt '*' grafana4.delete_user_org <userid> <orgid>
func (m *module) deleteUserOrg(ctx context.Context, a userOrgArgs) (any, error) {
	return m.ask(ctx, a.Profile, http.MethodDelete, nil, "orgs", a.Orgid, "users", a.Userid)
}

// getOrgs returns all organizations.
//
// CLI Example:
//
//	salt '*' grafana4.get_orgs
func (m *module) getOrgs(ctx context.Context, a profileArgs) (any, error) {
	return m.ask(ctx, a.Profile, http.MethodGet, nil, "orgs")
}

// getOrg returns an organization.
//
// CLI Example:
//
//	salt '*' grafana4.get_org <name>
func (m *module) getOrg(ctx context.Context, a orgNameArgs) (any, error) {
	return m.ask(ctx, a.Profile, http.MethodGet, nil, "orgs", "name", a.Name)
}

// getOrgUsers returns the users of an organization. This and the other functions with orgname switch to that
// organization first; without it they use the current one.
//
// CLI Example:
//
//	salt '*' grafana4.get_org_users <orgname>
func (m *module) getOrgUsers(ctx context.Context, a orgArgs) (any, error) {
	return m.in(ctx, a.Profile, a.Orgname, http.MethodGet, nil, "org", "users")
}

// createOrgUser takes a user into an organization, with the fields loginOrEmail and role, and returns
// Grafana's answer.
//
// CLI Example:
//
//	salt '*' grafana4.create_org_user <orgname> loginOrEmail=<loginOrEmail> role=<role>
func (m *module) createOrgUser(ctx context.Context, a orgFieldsArgs) (any, error) {
	return m.in(ctx, a.Profile, a.Orgname, http.MethodPost, a.Fields, "org", "users")
}

// updateOrgUser changes the role of a user in an organization, and returns Grafana's answer.
//
// CLI Example:
//
//	salt '*' grafana4.update_org_user <userid> <orgname> role=<role>
func (m *module) updateOrgUser(ctx context.Context, a orgUserFieldsArgs) (any, error) {
	return m.in(ctx, a.Profile, a.Orgname, http.MethodPatch, a.Fields, "org", "users", a.Userid)
}

// deleteOrgUser takes a user out of an organization, and returns Grafana's answer.
//
// CLI Example:
//
//	salt '*' grafana4.delete_org_user <userid> <orgname>
func (m *module) deleteOrgUser(ctx context.Context, a orgUserArgs) (any, error) {
	return m.in(ctx, a.Profile, a.Orgname, http.MethodDelete, nil, "org", "users", a.Userid)
}

// getOrgAddress returns the address of an organization.
//
// CLI Example:
//
//	salt '*' grafana4.get_org_address <orgname>
func (m *module) getOrgAddress(ctx context.Context, a orgArgs) (any, error) {
	return m.in(ctx, a.Profile, a.Orgname, http.MethodGet, nil, "org", "address")
}

// updateOrgAddress changes the address of an organization: the fields address1, address2, city, zipCode,
// state and country. It returns Grafana's answer.
//
// CLI Example:
//
//	salt '*' grafana4.update_org_address <orgname> country=<country>
func (m *module) updateOrgAddress(ctx context.Context, a orgFieldsArgs) (any, error) {
	return m.in(ctx, a.Profile, a.Orgname, http.MethodPut, a.Fields, "org", "address")
}

// getOrgPrefs returns the preferences of an organization.
//
// CLI Example:
//
//	salt '*' grafana4.get_org_prefs <orgname>
func (m *module) getOrgPrefs(ctx context.Context, a orgArgs) (any, error) {
	return m.in(ctx, a.Profile, a.Orgname, http.MethodGet, nil, "org", "preferences")
}

// updateOrgPrefs changes the preferences of an organization: the fields theme, homeDashboardId and
// timezone. It returns Grafana's answer.
//
// CLI Example:
//
//	salt '*' grafana4.update_org_prefs <orgname> theme=<theme> timezone=<timezone>
func (m *module) updateOrgPrefs(ctx context.Context, a orgFieldsArgs) (any, error) {
	return m.in(ctx, a.Profile, a.Orgname, http.MethodPut, a.Fields, "org", "preferences")
}

// createOrg creates an organization with the field name, and returns Grafana's answer.
//
// CLI Example:
//
//	salt '*' grafana4.create_org name=<name>
func (m *module) createOrg(ctx context.Context, a fieldsArgs) (any, error) {
	return m.ask(ctx, a.Profile, http.MethodPost, a.Fields, "orgs")
}

// updateOrg changes the name of an organization, and returns Grafana's answer.
//
// CLI Example:
//
//	salt '*' grafana4.update_org <orgid> name=<name>
func (m *module) updateOrg(ctx context.Context, a orgIDFieldsArgs) (any, error) {
	return m.ask(ctx, a.Profile, http.MethodPut, a.Fields, "orgs", a.Orgid)
}

// deleteOrg deletes an organization, and returns Grafana's answer.
//
// CLI Example:
//
//	salt '*' grafana4.delete_org <orgid>
func (m *module) deleteOrg(ctx context.Context, a orgIDArgs) (any, error) {
	return m.ask(ctx, a.Profile, http.MethodDelete, nil, "orgs", a.Orgid)
}

// getDatasources returns all data sources of an organization.
//
// CLI Example:
//
//	salt '*' grafana4.get_datasources <orgname>
func (m *module) getDatasources(ctx context.Context, a orgArgs) (any, error) {
	return m.in(ctx, a.Profile, a.Orgname, http.MethodGet, nil, "datasources")
}

// createDatasource creates a data source with the fields of Grafana's API, and returns Grafana's answer.
//
// CLI Example:
//
//	salt '*' grafana4.create_datasource name=<name> type=<type> url=<url> access=<access>
func (m *module) createDatasource(ctx context.Context, a orgFieldsArgs) (any, error) {
	return m.in(ctx, a.Profile, a.Orgname, http.MethodPost, a.Fields, "datasources")
}

// deleteDatasource deletes a data source, and returns Grafana's answer.
//
// CLI Example:
//
//	salt '*' grafana4.delete_datasource <datasourceid>
func (m *module) deleteDatasource(ctx context.Context, a datasourceArgs) (any, error) {
	return m.in(ctx, a.Profile, a.Orgname, http.MethodDelete, nil, "datasources", a.Datasourceid)
}

// deleteDashboard deletes a dashboard, and returns Grafana's answer.
//
// CLI Example:
//
//	salt '*' grafana4.delete_dashboard <slug>
func (m *module) deleteDashboard(ctx context.Context, a slugArgs) (any, error) {
	return m.in(ctx, a.Profile, a.Orgname, http.MethodDelete, nil, "dashboards", "db", a.Slug)
}

// createUpdateDashboard creates or changes a dashboard with the fields dashboard and overwrite, and returns
// Grafana's answer.
//
// CLI Example:
//
//	salt '*' grafana4.create_update_dashboard dashboard=<dashboard> overwrite=True
func (m *module) createUpdateDashboard(ctx context.Context, a orgFieldsArgs) (any, error) {
	return m.in(ctx, a.Profile, a.Orgname, http.MethodPost, a.Fields, "dashboards", "db")
}

// updateDatasource changes a data source: all fields of Grafana's API. It returns an empty dictionary.
//
// CLI Example:
//
//	salt '*' grafana4.update_datasource <datasourceid> name=<name> type=<type> url=<url> access=<access>
func (m *module) updateDatasource(ctx context.Context, a datasourceFieldsArgs) (any, error) {
	_, err := m.in(ctx, a.Profile, a.Orgname, http.MethodPut, a.Fields, "datasources", a.Datasourceid)
	return &data.Map{}, err
}

// getUser returns a user, or None.
//
// CLI Example:
//
//	salt '*' grafana4.get_user <login>
func (m *module) getUser(ctx context.Context, a loginArgs) (any, error) {
	v, err := m.getUsers(ctx, a.profileArgs)
	return find(v, "login", a.Login), err
}

// getDatasource returns a data source of an organization, or None.
//
// CLI Example:
//
//	salt '*' grafana4.get_datasource <name> <orgname>
func (m *module) getDatasource(ctx context.Context, a nameArgs) (any, error) {
	v, err := m.getDatasources(ctx, a.orgArgs)
	return find(v, "name", a.Name), err
}

// find returns the dictionary of a list that has a value under a key, or nil.
func find(list any, key, value string) any {
	for _, v := range data.ListOf(list) {
		if m, ok := v.(*data.Map); ok && m.Text(key) == value {
			return m
		}
	}
	return nil
}

// switchOrg makes an organization the current one, and returns it.
//
// CLI Example:
//
//	salt '*' grafana4.switch_org <name>
func (m *module) switchOrg(ctx context.Context, a switchArgs) (any, error) {
	org, err := m.getOrg(ctx, orgNameArgs{a.Orgname, a.profileArgs})
	if err != nil {
		return nil, err
	}
	of, _ := org.(*data.Map)
	_, err = m.ask(ctx, a.Profile, http.MethodPost, nil, "user", "using", data.Str(of.Value("id")))
	return org, err
}

// getDashboard returns a dashboard, or None.
//
// CLI Example:
//
//	salt '*' grafana4.get_dashboard <slug>
func (m *module) getDashboard(ctx context.Context, a slugArgs) (any, error) {
	v, err := m.in(ctx, a.Profile, a.Orgname, http.MethodGet, nil, "dashboards", "db", a.Slug)
	if e, ok := err.(*loader.Error); ok && e.Class == httpError && strings.HasPrefix(e.Text, "404 ") {
		return nil, nil
	}
	of, _ := v.(*data.Map)
	return of.Value("dashboard"), err
}
