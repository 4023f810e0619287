package cherrypy_test

import "github.com/brineproject/brine/internal/test/netapitest"

// better returns the differences by the names of exchanges.
func better() map[string]netapitest.Difference {
	wrong := "a wrong request is not the server's fault"
	return map[string]netapitest.Difference{
		"root-options-put":                {Status: 204, Why: "OPTIONS is no page, and no origin is allowed"},
		"root-options-noorigin":           {Status: 204, Why: "OPTIONS is no page"},
		"preflight-login":                 {Status: 204, Why: "Salt fails with its own CORS tool"},
		"preflight-minions":               {Status: 204, Why: "Salt fails with its own CORS tool"},
		"preflight-run":                   {Status: 204, Why: "no origin is allowed"},
		"minions-options-preflight":       {Status: 204, Why: "OPTIONS is no page"},
		"login-empty":                     {Status: 401, Why: wrong},
		"login-string":                    {Status: 401, Why: wrong},
		"login-number":                    {Status: 401, Why: wrong},
		"logout-noauth":                   {Status: 0, Why: "GET /logout is not allowed; it fails in Salt"},
		"login-chunked-noct-len":          {Status: 200, Why: "Salt does not read such a body"},
		"nodegroup-unknown":               {Status: 400, Why: "Salt fails with 500; the answer names the group"},
		"perm-limited-runner-ok":          {Status: 0, Why: "Salt's runner fails"},
		"runner-list-jobs-search":         {Status: 0, Why: "Salt's runner fails"},
		"runner-jobs-last-run":            {Status: 0, Why: "the job cache has runners as well"},
		"jobs-get-runner-jid":             {Status: 0, Why: "the job cache has runners as well"},
		"v1-app-default":                  {Status: 404, Why: "there is no page of our own at this address"},
		"v4-stats":                        {Status: 403, Why: "the address is looked at first"},
		"v4-app":                          {Status: 403, Why: "authorized_ips counts for every address"},
		"static-ims":                      {Status: 304, Why: "the file is not newer"},
		"low-missing-tgt":                 {Status: 400, Why: wrong},
		"low-missing-fun":                 {Status: 400, Why: wrong},
		"low-ssh-roster":                  {Status: 501, Why: "salt-ssh is not there yet"},
		"ssh-options":                     {Status: 501, Why: "salt-ssh is not there yet"},
		"perm-limited-wheel-async-denied": {Status: 401, Why: "Salt tells nobody that the master has refused it"},
		"wheel-async-denied":              {Status: 401, Why: "Salt tells nobody that the master has refused it"},
		"wheel-async-user-spoof":          {Status: 401, Why: "Salt tells nobody that the master has refused it"},
		"perm-shorty-expired":             {Status: 401, Why: "the session ends with its token"},
		"expired-minions":                 {Status: 401, Why: "the session ends with its token"},
		"expired-logout":                  {Status: 401, Why: "the session ends with its token"},
		"keys-post-again-noforce":         {Status: 409, Why: wrong},
		"keys-post-xauth-only":            {Status: 401, Why: wrong},
		"keys-post-noauth":                {Status: 401, Why: wrong},
		"keys-post-badpw":                 {Status: 401, Why: wrong},
		"keys-post-nomid":                 {Status: 400, Why: wrong},
		"events-post":                     {Status: 405, Why: wrong},
		"events-html":                     {Status: 200, Why: "Salt fails"},
		"v1-body-1001":                    {Status: 413, Why: "max_request_body_size counts"},
		"v1-missing-fun-debug":            {Status: 400, Why: wrong},
		"v3-run-not-covered":              {Status: 401, Why: "api_acl counts for every login"},
		"down-connected":                  {Status: 0, Why: "Salt names a minion that has just ended"},
		"down-subset":                     {Status: 200, Why: "a silent minion is left out; Salt fails"},
	}
}
