#!json
{"js": {"1": {"full_name": "JS"}}}