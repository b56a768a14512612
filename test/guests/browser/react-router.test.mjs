// React Router with @react-router/express, after its files.
import { join } from 'node:path'

import { createRequestHandler } from '@react-router/express'
import express from 'express'

import { buildApp } from '../support/build-app.mjs'
import { driveApp } from '../support/drive-app.mjs'
import { guest } from '../support/guest.mjs'
import { WEIR_HTTP2 } from '../support/serve-guest.mjs'

guest('React Router', {
  kind: 'application',
  more: [WEIR_HTTP2],
  measured: '/',
  packages: ['react-router', '@react-router/express'],
  driven: 'loaders, an action, `Await`, a resource route',
  app: async () => {
    const folder = buildApp('react-router', ['@react-router/dev/dist/cli/index.js', 'build'], 'build/server/index.js')
    const build = await import(join(folder, 'build/server/index.js'))
    return express()
      .use('/assets', express.static(join(folder, 'build/client/assets'), { immutable: true, maxAge: '1y' }))
      .use(express.static(join(folder, 'build/client')))
      .all('/*path', createRequestHandler({ build, mode: 'production' }))
      .all('/', createRequestHandler({ build, mode: 'production' }))
  },
  drive: driveApp,
})
