// The types of Node's HTTP/2, and nothing of its code, which weir does not load.

export type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
