// Astro with @astrojs/node in middleware mode: `handler` of its build, after its files.
import { join } from 'node:path'

import express from 'express'

import { buildApp } from '../support/build-app.mjs'
import { DRIVEN, driveApp } from '../support/drive-app.mjs'
import { guest } from '../support/guest.mjs'

guest('Astro', {
  kind: 'application',
  packages: ['astro', '@astrojs/node'],
  driven: `${DRIVEN}; a server island`,
  app: async () => {
    const folder = buildApp('astro', ['astro/bin/astro.mjs', 'build'], 'dist/server/entry.mjs')
    const { handler } = await import(join(folder, 'dist/server/entry.mjs'))
    return express()
      .use('/_astro', express.static(join(folder, 'dist/client/_astro'), { immutable: true, maxAge: '1y' }))
      .use(express.static(join(folder, 'dist/client')), handler)
  },
  drive: (client, served) => driveApp(client, served, { island: true }),
})
