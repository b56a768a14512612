// Proxies that are configured to state who their client is: HAProxy, nginx and Caddy, each one hop in front of a server or of another
// proxy.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

import { absent, freePort, run, runHaproxy, temporaryFolder } from './proxy.ts'

export const noCaddy = absent('caddy', 'version')

/** TCP is passed on unchanged, with a PROXY header in front. @param server the settings for the server: `send-proxy` and so on */
export function haproxyTcp(t: TestContext, upstream: number, server: string, bind = ''): Promise<number> {
  return haproxy(t, (port) => frontend('tcp', port, bind, '', `127.0.0.1:${upstream} ${server}`))
}

/** Requests are passed on, with fields. */
export function haproxyHttp(t: TestContext, upstream: number, server = '', bind = ''): Promise<number> {
  const fields = `
  option forwardfor
  http-request set-header X-Forwarded-Proto https if { ssl_fc }
  http-request set-header X-Forwarded-Proto http if !{ ssl_fc }`
  return haproxy(t, (port) => frontend('http', port, bind, fields, `127.0.0.1:${upstream} ${server}`))
}

/** Requests are passed on, with an element of Forwarded. HAProxy 2.6 cannot write it without configuration. */
export function haproxyForwarded(t: TestContext, upstream: number): Promise<number> {
  const fields = `
  http-request add-header Forwarded for=%[src];proto=http;host=\\"%[req.hdr(host)]\\"`
  return haproxy(t, (port) => frontend('http', port, '', fields, `127.0.0.1:${upstream}`))
}

function frontend(mode: 'tcp' | 'http', port: number, bind: string, fields: string, server: string): string {
  return `
global
  maxconn 256
defaults
  mode ${mode}
  timeout connect 5s
  timeout server 5s
  timeout client 5s
frontend front
  bind 127.0.0.1:${port} ${bind}${fields}
  default_backend behind
backend behind
  server weir ${server}
`
}

async function haproxy(t: TestContext, configure: (port: number) => string): Promise<number> {
  return (await runHaproxy(t, configure)).port
}

export interface NginxOptions {
  /** Whether it expects PROXY headers, from every peer. */
  readonly proxyProtocol?: boolean
  /**
   * Where it speaks HTTP/2 without TLS. nginx 1.22 does that to a server with `grpc_pass` alone, which is also its only way to pass trailers on.
   * By default nowhere.
   */
  readonly http2?: 'upstream' | 'both'
}

/** @param upstream a port, or `unix:` and a path */
export async function nginx(
  t: TestContext,
  upstream: number | string,
  { proxyProtocol = false, http2 }: NginxOptions = {},
): Promise<number> {
  const port = await freePort()
  const folder = temporaryFolder()
  const file = join(folder, 'nginx.conf')
  const target = typeof upstream === 'number' ? `127.0.0.1:${upstream}` : upstream
  writeFileSync(
    file,
    `
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 64; }
http {
  access_log off;
  client_max_body_size 0;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  server {
    listen 127.0.0.1:${port}${proxyProtocol ? ' proxy_protocol' : ''}${http2 === 'both' ? ' http2' : ''};
    ${proxyProtocol ? 'set_real_ip_from 127.0.0.1; real_ip_header proxy_protocol;' : ''}
    location / {
      ${http2 === undefined ? `proxy_pass http://${target};` : `grpc_pass grpc://${target};`}
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Connection "";
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Forwarded-Host $http_host;
    }
  }
}
`,
  )
  await run(t, folder, 'nginx', ['-p', folder, '-e', join(folder, 'error.log'), '-c', file], port)
  return port
}

/** Sets X-Forwarded-For, -Proto and -Host by default, and ignores received ones. @param scheme `h2c` for HTTP/2 without TLS */
export async function caddy(t: TestContext, upstream: number, scheme: 'http' | 'h2c' = 'http'): Promise<number> {
  const port = await freePort()
  const folder = temporaryFolder()
  const file = join(folder, 'Caddyfile')
  writeFileSync(
    file,
    `
{
  admin off
  auto_https off
  storage file_system ${folder}
}
http://:${port} {
  bind 127.0.0.1
  reverse_proxy ${scheme}://127.0.0.1:${upstream}
}
`,
  )
  await run(t, folder, 'caddy', ['run', '--config', file, '--adapter', 'caddyfile'], port)
  return port
}
