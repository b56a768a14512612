// SvelteKit with adapter-node: `handler` of its build.
import { join } from 'node:path'

import { buildApp } from '../support/build-app.mjs'
import { driveApp } from '../support/drive-app.mjs'
import { guest } from '../support/guest.mjs'
import { WEIR_HTTP2 } from '../support/serve-guest.mjs'

guest('SvelteKit', {
  kind: 'application',
  more: [WEIR_HTTP2],
  measured: '/',
  packages: ['@sveltejs/kit', '@sveltejs/adapter-node'],
  driven: 'load functions, a form action, a streamed promise, an endpoint, the address of the client',
  app: async () => {
    process.env.PROTOCOL_HEADER = 'x-forwarded-proto' // otherwise it assumes https, and refuses forms of a page that came by http
    const folder = buildApp('sveltekit', ['vite/bin/vite.js', 'build'], 'build/handler.js')
    const { handler } = await import(join(folder, 'build/handler.js'))
    return (request, response, next) => {
      request.headers['x-forwarded-proto'] = request.socket.encrypted ? 'https' : 'http'
      return handler(request, response, next)
    }
  },
  drive: driveApp,
})
