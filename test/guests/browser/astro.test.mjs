// Astro with @astrojs/node in middleware mode: `handler` of its build, after its files.
import { join } from 'node:path'

import express from 'express'

import { buildApp } from '../support/build-app.mjs'
import { driveApp } from '../support/drive-app.mjs'
import { guest } from '../support/guest.mjs'
import { WEIR_HTTP2 } from '../support/serve-guest.mjs'

guest('Astro', {
  kind: 'application',
  more: [WEIR_HTTP2],
  measured: '/',
  packages: ['astro', '@astrojs/node'],
  driven: 'a React island, an action, view transitions, a server island, an endpoint, the address of the client',
  app: async () => {
    const folder = buildApp('astro', ['astro/bin/astro.mjs', 'build'], 'dist/server/entry.mjs')
    const { handler } = await import(join(folder, 'dist/server/entry.mjs'))
    return express()
      .use('/_astro', express.static(join(folder, 'dist/client/_astro'), { immutable: true, maxAge: '1y' }))
      .use(express.static(join(folder, 'dist/client')))
      .use((request, response) => handler(request, response)) // with `next`, it would leave its 404 page to Express
  },
  drive: (client, served) => driveApp(client, served, { island: true }),
})
