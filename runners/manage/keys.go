package manage

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/runners"
)

// keyRegen makes every minion delete its keys and deletes all minion keys on the master, so that
// all minions start over. Unlike in Salt the master's own keys stay: minions delete their copy and
// then accept the master's key again. Use it with care: minions that are not connected now are not
// admitted afterwards.
//
// CLI Example:
//
//	salt-run manage.key_regen
func (m *module) keyRegen(ctx context.Context, _ loader.NoArgs) (any, error) {
	if _, err := runners.Collect(ctx, m.env,
		data.NewMap("tgt", "*", "tgt_type", "glob", "fun", "saltutil.regen_keys", "arg", []any{},
			"timeout", m.env.Option("timeout"))); err != nil {
		runners.RunOf(ctx).Printf("%v\n", err)
		return false, nil
	}
	for _, s := range pki.States() {
		ids, err := m.needs.Keys.List(s)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if err := m.needs.Keys.Delete(s, id); err != nil {
				return nil, err
			}
		}
	}
	return "The keys of minions have been deleted, and minions that are connected have\n" +
		"deleted theirs.  Restart those minions; their new keys will appear in\n" +
		"pending and will need to be accepted by running:\n" +
		"    salt-key -A\n\n" +
		"Minions that are not connected to the master now need\n" +
		"    salt-call saltutil.regen_keys", nil
}

type safeAcceptArgs struct {
	Target  any
	TgtType any `default:"'glob'"`
}

// safeAccept is not supported: it would compare fingerprints over salt-ssh before accepting keys,
// and there is no salt-ssh here.
//
// CLI Example:
//
//	salt-run manage.safe_accept my_minion
func (m *module) safeAccept(context.Context, safeAcceptArgs) (any, error) {
	return nil, noSSH("safe_accept",
		"Compare the output of \"salt-call --local key.finger\" on the minion with \"salt-key -f MINION\" and run \"salt-key -a MINION\".")
}

func noSSH(fun, instead string) error {
	return &runners.UnableError{Text: "manage." + fun +
		" works over salt-ssh, which this release does not have. " + instead}
}

type bootstrapArgs struct {
	Version     any `default:"'develop'"`
	Script      any `default:"'https://bootstrap.saltproject.io'"`
	Hosts       any `default:"''"`
	ScriptArgs  any `default:"''"`
	Roster      any `default:"'flat'"`
	SSHUser     any `name:"ssh_user" default:"None"`
	SSHPassword any `name:"ssh_password" default:"None"`
	SSHPrivKey  any `name:"ssh_priv_key" default:"None"`
	TmpDir      any `default:"'/tmp/.bootstrap'"`
	HTTPBackend any `name:"http_backend" default:"'tornado'"`
}

// bootstrap is not supported: it would install minions on hosts over salt-ssh by a script from the
// internet, and there is no salt-ssh here.
//
// CLI Example:
//
//	salt-run manage.bootstrap hosts='host1,host2'
func (m *module) bootstrap(context.Context, bootstrapArgs) (any, error) {
	return nil, noSSH("bootstrap", "Install the package of the minion with the tools of the hosts.")
}

type psexecArgs struct {
	Hosts        any `default:"''"`
	Master       any `default:"None"`
	Version      any `default:"None"`
	Arch         any `default:"'win32'"`
	InstallerURL any `name:"installer_url" default:"None"`
	Username     any `default:"None"`
	Password     any `default:"None"`
}

// bootstrapPsexec is not supported: it would install minions on Windows hosts with PsExec.
//
// CLI Example:
//
//	salt-run manage.bootstrap_psexec hosts='host1,host2'
func (m *module) bootstrapPsexec(context.Context, psexecArgs) (any, error) {
	return nil, &runners.UnableError{Text: "manage.bootstrap_psexec is not part of this release. " +
		"Install the package of the minion with the tools of the hosts."}
}
