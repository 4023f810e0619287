package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	goidc "github.com/coreos/go-oidc/v3/oidc"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/netapi"
)

// mostGroups limits the groups of a user.
const mostGroups = 1000

// verify checks an ID token: issuer, audience, times, signature and nonce.
func (p *Provider) verify(ctx context.Context, found *goidc.Provider, raw, nonce string) (who netapi.Proven, err error) {
	token, err := found.Verifier(&goidc.Config{ClientID: p.Settings.ClientID, Now: p.Now}).Verify(ctx, raw)
	if _, ok := errors.AsType[*url.Error](err); ok {
		return who, refuse(http.StatusServiceUnavailable, textNotThere, err)
	}
	if _, ok := errors.AsType[*goidc.TokenExpiredError](err); ok {
		return who, refuse(http.StatusUnauthorized, "The ID token of the provider has expired", err)
	}
	if err != nil {
		return who, refuse(http.StatusUnauthorized, "The ID token of the provider is not for this server, or not signed by it", err)
	}
	if !same(token.Nonce, nonce) {
		return who, refuse(http.StatusUnauthorized, "The ID token of the provider is of another login", nil)
	}
	claims := map[string]any{}
	if err := token.Claims(&claims); err != nil {
		return who, refuse(http.StatusUnauthorized, "The ID token of the provider cannot be read", err)
	}
	if party, ok := claims["azp"]; ok && len(token.Audience) > 1 && party != p.Settings.ClientID {
		return who, refuse(http.StatusUnauthorized, "The ID token of the provider is for another program", nil)
	}
	return p.read(claims)
}

// read returns the user of verified claims.
func (p *Provider) read(claims map[string]any) (who netapi.Proven, err error) {
	name := p.Settings.UsernameClaim
	user, ok := claims[name].(string)
	if !ok {
		return who, refuse(http.StatusUnauthorized, fmt.Sprintf("The provider does not give the name of the user: "+
			"there is no claim %s (username_claim)", name), nil)
	}
	if err := auth.CheckName(user); err != nil {
		return who, refuse(http.StatusUnauthorized, "The provider gives a name that no user can have", err)
	}
	if verified, ok := claims["email_verified"]; ok && name == "email" && verified != true && verified != "true" {
		return who, refuse(http.StatusUnauthorized, "The provider has not verified the address of the user", nil)
	}
	groups, err := groupsOf(claims[p.Settings.GroupsClaim])
	if err != nil {
		return who, refuse(http.StatusUnauthorized, "The groups of the user cannot be used", err)
	}
	return netapi.Proven{User: user, Groups: groups}, nil
}

// groupsOf reads the claim of groups: a list of texts, or one text.
func groupsOf(claim any) ([]string, error) {
	var groups []string
	switch claim := claim.(type) {
	case nil:
	case string:
		groups = []string{claim}
	case []any:
		for _, v := range claim {
			group, ok := v.(string)
			if !ok {
				return nil, fmt.Errorf("%v is no name of a group", v)
			}
			groups = append(groups, group)
		}
	default:
		return nil, errors.New("they are no list")
	}
	if len(groups) > mostGroups {
		return nil, fmt.Errorf("there are more than %d", mostGroups)
	}
	for _, group := range groups {
		if err := auth.CheckName(group); err != nil {
			return nil, fmt.Errorf("group %q: %w", group, err)
		}
	}
	return groups, nil
}
