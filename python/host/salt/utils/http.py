"""Requests over HTTP, as salt.utils.http makes them, by Python's own urllib."""

import os

USERAGENT = "Salt/3006.18"


def get_ca_bundle(opts=None):
    """Return the file of the certificates to trust: the option ca_bundle, or that of the system."""
    bundle = (opts or {}).get("ca_bundle")
    if bundle and os.path.exists(bundle):
        return bundle
    file_roots = (opts or {}).get("file_roots", {}).get("base", ())
    for path in [os.path.join(root, name) for root in file_roots
                 for name in ("cacert.pem", "ca-bundle.crt")] + [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/pki/tls/certs/ca-bundle.trust.crt", "/etc/ssl/certs/ca-bundle.crt",
        "/var/lib/ca-certificates/ca-bundle.pem", "/etc/ssl/cert.pem",
    ]:
        if os.path.exists(path):
            return path
    return None


def sanitize_url(url, hide_fields):
    """Return a URL with XXXXXXXXXX in place of the values of fields in its query."""
    import urllib.parse

    parts = urllib.parse.urlsplit(url)
    hidden = []
    for item in parts.query.split("&"):
        name, mark, _ = item.partition("=")
        hidden.append("%s=XXXXXXXXXX" % name if mark and name in (hide_fields or ()) else item)
    return urllib.parse.urlunsplit(parts._replace(query="&".join(hidden)))


def parse_cookie_header(header):
    """Return the cookies of a Set-Cookie header as http.cookiejar has them."""
    import http.cookiejar
    import http.cookies

    found = []
    for name, morsel in http.cookies.SimpleCookie(header).items():
        found.append(http.cookiejar.Cookie(
            version=morsel["version"] or 0, name=name, value=morsel.value, port=None,
            port_specified=False, domain=morsel["domain"], domain_specified=bool(morsel["domain"]),
            domain_initial_dot=morsel["domain"].startswith("."), path=morsel["path"] or "/",
            path_specified=bool(morsel["path"]), secure=bool(morsel["secure"]), expires=None,
            discard=True, comment=morsel["comment"], comment_url=None, rest={}))
    return found


def session(user=None, password=None, verify_ssl=True, ca_bundle=None, headers=None):
    """Return a session of the module requests, with a login and headers."""
    import requests

    made = requests.session()
    if user is not None or password is not None:
        made.auth = (user, password)
    made.verify = ca_bundle if ca_bundle and verify_ssl else verify_ssl
    made.headers.update(headers or {})
    return made


def _read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def _rendered(template, renderer, template_dict):
    from salt import template as templates

    return templates.render_text(template, renderer or "jinja", template_dict or {})


def _headers(header_dict, header_list, header_file, header_render, renderer, template_dict):
    made = dict(header_dict or {})
    lines = list(header_list or [])
    if header_file is not None:
        text = _read(header_file)
        if header_render:
            text = _rendered(text, renderer, template_dict)
        lines += text.splitlines()
    for line in lines:
        name, mark, value = line.partition(":")
        if mark:
            made[name.strip()] = value.strip()
    return made


def _form(data, formdata_fieldname, formdata_filename):
    """Return the body of a form with one file, and its content type."""
    boundary = "brine%s" % os.urandom(16).hex()
    field, name = formdata_fieldname or "file", formdata_filename or "file"
    body = data.encode() if isinstance(data, str) else data or b""
    head = ('--%s\r\nContent-Disposition: form-data; name="%s"; filename="%s"\r\n\r\n'
            % (boundary, field, name)).encode()
    return head + body + ("\r\n--%s--\r\n" % boundary).encode(), (
        "multipart/form-data; boundary=" + boundary)


def _context(url, opts, ca_bundle, verify_ssl, cert):
    if not url.lower().startswith("https"):
        return None
    import ssl

    if verify_ssl is None:
        verify_ssl = opts.get("verify_ssl", True)
    if not verify_ssl:
        made = ssl._create_unverified_context()
    else:
        made = ssl.create_default_context(cafile=ca_bundle or get_ca_bundle(opts))
    if cert:
        made.load_cert_chain(*([cert] if isinstance(cert, str) else cert))
    return made


_DECODE_TYPES = ("json", "xml", "yaml", "plain")


def _decoded(text, decode_type):
    if decode_type == "json":
        from salt.utils import json

        return json.loads(text)
    if decode_type == "xml":
        import xml.etree.ElementTree

        from salt.utils import xmlutil

        return [xmlutil.to_dict(child) for child in xml.etree.ElementTree.fromstring(text)]
    if decode_type == "yaml":
        from salt.utils import yaml

        return yaml.safe_load(text)
    return text


def query(url, method="GET", params=None, data=None, data_file=None, header_dict=None,
          header_list=None, header_file=None, username=None, password=None, auth=None,
          decode=False, decode_type="auto", status=False, headers=False, text=False,
          cookies=None, cookie_jar=None, cookie_format="lwp", persist_session=False,
          session_cookie_jar=None, data_render=False, data_renderer=None, header_render=False,
          header_renderer=None, template_dict=None, test=False, test_url=None, node="minion",
          port=80, opts=None, backend=None, ca_bundle=None, verify_ssl=None, cert=None,
          text_out=None, headers_out=None, decode_out=None, stream=False,
          streaming_callback=None, header_callback=None, handle=False, agent=USERAGENT,
          hide_fields=None, raise_error=True, formdata=False, formdata_fieldname=None,
          formdata_filename=None, decode_body=True, **kwargs):
    """Make a request and return what of the answer is asked for.

    status, headers and text=True put these into the dictionary that is returned; decode=True puts
    there as dict what the body says, by decode_type json, xml, yaml, plain or auto. An answer with
    a status of 400 or more has its text as error. With handle=True a request that fails raises.
    """
    import urllib.error
    import urllib.parse
    import urllib.request

    from salt import _brine

    if opts is None:
        opts = _brine.opts() if _brine.running() else {}
    made = {}
    if data_file is not None:
        data = _read(data_file)
    if data_render and isinstance(data, str):
        data = _rendered(data, data_renderer, template_dict)
    if isinstance(data, dict):
        data = urllib.parse.urlencode(data)
    if method == "POST" and data is None:
        data = ""
    if params:
        url += ("&" if "?" in url else "?") + urllib.parse.urlencode(params, doseq=True)
    if test is True:
        if test_url is None:
            return {}
        url, made = test_url, {"test": True}
    words = _headers(header_dict, header_list, header_file, header_render, header_renderer,
                     template_dict)
    words.setdefault("User-Agent", USERAGENT if agent == USERAGENT else "%s %s" % (
        agent, USERAGENT))
    if formdata:
        data, words["Content-Type"] = _form(data, formdata_fieldname, formdata_filename)
    body = data.encode() if isinstance(data, str) else data
    request = urllib.request.Request(url, data=body, headers=words, method=method)
    handlers = []
    context = _context(url, opts, ca_bundle, verify_ssl, cert)
    if context is not None:
        handlers.append(urllib.request.HTTPSHandler(context=context))
    login = auth if auth else (username, password) if username and password is not None else None
    if login:
        import base64

        request.add_header("Authorization", "Basic " + base64.b64encode(
            ("%s:%s" % tuple(login)).encode()).decode())
    jar = None
    if cookies is not None or persist_session:
        import http.cookiejar

        kind = http.cookiejar.MozillaCookieJar if cookie_format == "mozilla" else (
            http.cookiejar.LWPCookieJar)
        jar = kind(cookie_jar or os.path.join(opts.get("cachedir", "/var/cache/salt"),
                                              "cookies.txt"))
        if os.path.isfile(jar.filename):
            jar.load()
        handlers.append(urllib.request.HTTPCookieProcessor(jar))
    timeout = kwargs.get("timeout") or opts.get("http_request_timeout", 3600)
    try:
        try:
            answer = urllib.request.build_opener(*handlers).open(request, timeout=timeout)
        except urllib.error.HTTPError as exc:
            answer = exc
        with answer:
            code, found = answer.getcode(), dict(answer.headers.items())
            raw = b""
            for part in iter(lambda: answer.read(1 << 20), b""):
                if streaming_callback is not None:
                    streaming_callback(part)
                else:
                    raw += part
    except (urllib.error.URLError, OSError, ValueError) as exc:
        if handle:
            raise
        if not raise_error:
            return dict(made, body=None)
        if status:
            made["status"] = 0
        return dict(made, error=str(getattr(exc, "reason", exc)))
    if jar is not None:
        jar.save()
    return _answer(made, code, found, raw, handle=handle, status=status, headers=headers,
                   text=text, decode=decode, decode_type=decode_type, decode_body=decode_body,
                   text_out=text_out, headers_out=headers_out, decode_out=decode_out,
                   raise_error=raise_error)


def _answer(made, code, found, raw, handle, status, headers, text, decode, decode_type,
            decode_body, text_out, headers_out, decode_out, raise_error):
    content_type = found.get("Content-Type", "")
    if handle:
        return {"handle": raw, "body": raw}
    charset = "utf-8"
    if "charset=" in content_type:
        charset = content_type.partition("charset=")[2].partition(";")[0].strip("\" ")
    body = raw.decode(charset, "replace") if decode_body else raw
    if text_out is not None:
        with open(text_out, "wb") as file:
            file.write(raw)
    if headers_out is not None:
        with open(headers_out, "w", encoding="utf-8") as file:
            file.write(str(found))
    if code >= 400 and raise_error:
        made.update(status=code, error="HTTP %d: %s" % (code, _reason(code)))
        return made
    made["body"] = body
    if status:
        made["status"] = code
    if headers:
        made["headers"] = found
    if decode:
        if decode_type == "auto":
            decode_type = next((k for k in ("json", "xml") if k in content_type), "plain")
        if decode_type not in _DECODE_TYPES:
            made["error"] = (
                "Invalid decode_type specified. Valid decode types are: %s" % (_DECODE_TYPES,))
            return made
        value = _decoded(body, decode_type)
        made["dict" if decode_type != "plain" else "text"] = value
        if decode_out is not None:
            with open(decode_out, "w", encoding="utf-8") as file:
                file.write(str(value))
    if text:
        made["text"] = body
    return made


def _reason(code):
    from http.client import responses

    return responses.get(code, "Unknown")
