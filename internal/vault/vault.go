// Package vault is the access to a HashiCorp Vault by its HTTP API: what Salt has in
// salt/utils/vault.py and generate_token of salt/runners/vault.py.
//
// A Session sends the requests of a minion. Its token comes from the master by the runner
// vault.generate_token, or, without a master, from the option vault of the minion itself. As in Salt
// the token is kept for the job (token_backend session), or in the file salt_vault_token in cachedir,
// which has Salt's form. On a master a Session keeps its token in memory only, so that minions whose
// pillars are compiled there share none.
//
// An Issuer makes the tokens of minions on a master. A Reader reads for a minion where its pillar is
// compiled. Both use the login in the option vault: token, approle or wrapped_token.
//
// Errors and log lines have paths and statuses, and the error texts of Vault, but no tokens and no
// secrets.
//
// Differences from Salt: the login of a master is kept until its lease ends or Vault refuses it, and
// not looked up before each use. verify of the master counts on a minion that has none itself, if it
// is False or a file that the minion has. A failed lookup of a mount is logged with the status alone.
package vault
