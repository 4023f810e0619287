package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/brineproject/brine/config"
)

// CheckFiles reads the files that the options name, and joins a *config.Finding for each that is
// missing, not safe or not in its form. reader is the user who is to read the cluster key, and has to own
// it; "" means any.
func (o Options) CheckFiles(reader string) error {
	return errors.Join(o.checkKeyFile(reader), o.checkTLS(), o.checkLogin())
}

// errOwner says that the cluster key belongs to a wrong user.
var errOwner = fmt.Errorf("%w: wrong owner", ErrKeyFile)

// checkKeyFile checks the file of the cluster key.
func (o Options) checkKeyFile(reader string) error {
	_, err := LoadSecret(o.KeyFile)
	if err == nil && reader != "" {
		err = ownedBy(o.KeyFile, reader)
	}
	if err == nil {
		return nil
	}
	const more = "; a new cluster needs a new one: openssl rand -hex 32, with mode 0600"
	f := fileFinding(o.KeyFile, reader, err)
	if errors.Is(err, errOwner) {
		f.Suggestion = fmt.Sprintf("chown %s: %s", reader, o.KeyFile)
	}
	if errors.Is(err, fs.ErrNotExist) {
		f.Text = "there is no cluster key in " + o.KeyFile
		f.Suggestion = "copy it from another member" + more
	}
	return config.Below("key", f)
}

// checkTLS checks the files of the connection.
func (o Options) checkTLS() error {
	var errs []error
	if o.TLS.CA != "" {
		errs = append(errs, config.Below("ca", checkCA(o.TLS.CA)))
	}
	if o.TLS.Cert != "" {
		errs = append(errs, o.TLS.checkPair())
	}
	return config.Below(wordTLS, errors.Join(errs...))
}

func checkCA(file string) error {
	text, err := os.ReadFile(file)
	switch {
	case err != nil:
		return fileFinding(file, "", err)
	case !x509.NewCertPool().AppendCertsFromPEM(text):
		return &config.Finding{Text: file + " has no certificate",
			Suggestion: "it begins with -----BEGIN CERTIFICATE-----, and is that of the CA that signs the servers' ones"}
	}
	return nil
}

// checkPair checks the certificate of this host and its key.
func (t TLS) checkPair() error {
	for name, file := range map[string]string{"cert": t.Cert, "key": t.Key} {
		if _, err := os.ReadFile(file); err != nil {
			return config.Below(name, fileFinding(file, "", err))
		}
	}
	if _, err := tls.LoadX509KeyPair(t.Cert, t.Key); err != nil {
		return config.Below("cert", &config.Finding{Text: fmt.Sprintf("%s with the key %s: %v", t.Cert, t.Key, err),
			Suggestion: "name a certificate in PEM, and its own key", Cause: err})
	}
	return nil
}

// checkLogin checks the file that the login at NATS needs.
func (o Options) checkLogin() error {
	switch {
	case o.Credentials != "":
		text, err := os.ReadFile(o.Credentials)
		if err != nil {
			return config.Below(wordCredentials, fileFinding(o.Credentials, "", err))
		}
		_, err = nkeys.ParseDecoratedJWT(text)
		if err == nil {
			_, err = nkeys.ParseDecoratedUserNKey(text)
		}
		if err != nil {
			return config.Below(wordCredentials, &config.Finding{
				Text:       fmt.Sprintf("%s is no credentials file: %v", o.Credentials, err),
				Suggestion: "nsc generate creds makes one, with the JWT and the seed of a user", Cause: err})
		}
	case o.NKey != "":
		if _, err := os.ReadFile(o.NKey); err != nil {
			return config.Below(wordNKey, fileFinding(o.NKey, "", err))
		}
		if _, err := nats.NkeyOptionFromSeed(o.NKey); err != nil {
			return config.Below(wordNKey, &config.Finding{Text: fmt.Sprintf("%s has no seed of a user: %v", o.NKey, err),
				Suggestion: "nk -gen user makes one, which begins with SU", Cause: err})
		}
	}
	return nil
}

// fileFinding describes why a file cannot be used. reader is the user who is to read it, "" for the
// present one.
func fileFinding(file, reader string, err error) *config.Finding {
	f := &config.Finding{Text: err.Error(), Cause: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Text = "there is no file " + file
	case errors.Is(err, fs.ErrPermission):
		if reader == "" {
			reader = present()
		}
		f.Text = fmt.Sprintf("user %s may not read %s", reader, file)
		f.Suggestion = fmt.Sprintf("chown %s: %s, if the directories above it let that user through", reader, file)
	}
	return f
}

// present returns the name of the user of this process, or its number. The user may have changed since the
// start, which user.Current does not notice.
func present() string {
	id := strconv.Itoa(os.Geteuid())
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// refusal returns a finding for an error of the connection that an option causes, else the error.
func (o Options) refusal(err error) error {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	fault := func(path []any, text, suggestion string) error {
		return &config.Finding{Path: path, Suggestion: suggestion, Cause: err,
			Text: fmt.Sprintf("NATS at %s: %s: %v", o.addresses(), text, err)}
	}
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return o.refusedLogin(fault)
	case errors.As(err, &unknown) && o.TLS.CA == "":
		return fault([]any{wordTLS}, "the certificate of the server is of a CA that this host does not know",
			"write tls: {ca: FILE} with the certificate of that CA")
	case errors.As(err, &unknown):
		return fault([]any{wordTLS, "ca"}, "the certificate of the server is not of the CA in "+o.TLS.CA,
			"name the file with the certificate of the CA of nats.conf")
	case errors.As(err, &name):
		return fault([]any{wordServers}, "the certificate of the server is for other names",
			"write an address that the certificate names, or give the server one for this address")
	case errors.Is(err, nats.ErrSecureConnWanted), errors.Is(err, nats.ErrSecureConnRequired):
		return fault([]any{wordServers}, "server and addresses differ in TLS",
			"write tls:// for a server with TLS, nats:// for one without")
	}
	return err
}

// refusedLogin names the option of a login that NATS refuses.
func (o Options) refusedLogin(fault func(path []any, text, suggestion string) error) error {
	switch {
	case o.Credentials != "":
		return fault([]any{wordCredentials}, "the login with "+o.Credentials+" is refused",
			"name the credentials file of a user of the account with JetStream")
	case o.NKey != "":
		return fault([]any{wordNKey}, "the login with the seed in "+o.NKey+" is refused",
			"authorization in nats.conf needs the public key that belongs to it")
	case o.User != "":
		return fault([]any{wordUser}, "the login of user "+o.User+" is refused",
			"user and password must be those of authorization in nats.conf")
	}
	return fault(nil, "the server demands a login",
		"set user and password, nkey, or credentials, as authorization in nats.conf demands")
}
