// Apollo Server on Express 5.
import assert from 'node:assert/strict'

import { ApolloServer } from '@apollo/server'
import { expressMiddleware } from '@as-integrations/express5'
import cors from 'cors'
import express from 'express'

import { guest } from '../support/guest.mjs'

guest('Apollo Server', {
  measured: '/graphql?query=%7Bpeople%7D',
  kind: 'framework',
  packages: ['@apollo/server', '@as-integrations/express5'],
  driven: 'queries by POST and GET, a mutation, a batch, errors, the context, its CSRF prevention, the landing page',
  app: async () => {
    const people = ['Ada']
    const server = new ApolloServer({
      typeDefs: 'type Query { people(prefix: String): [String!]!, me: String, fails: Int } type Mutation { add(name: String!): Int! }',
      resolvers: {
        Query: {
          people: (_, { prefix = '' }) => people.filter((name) => name.startsWith(prefix)),
          me: (_, __, { user }) => user,
          fails: () => {
            throw new Error('failed')
          },
        },
        Mutation: { add: (_, { name }) => people.push(name) },
      },
      allowBatchedHttpRequests: true,
      includeStacktraceInErrorResponses: false,
      introspection: true,
    })
    await server.start()
    const app = express()
    app.use(
      '/graphql',
      cors(),
      express.json(),
      expressMiddleware(server, { context: async ({ req }) => ({ user: req.get('x-user') ?? null }) }),
    )
    return { handler: app, close: () => server.stop() }
  },
  mask: [[/[0-9a-f]{64}/g, '*']],
  hide: ['etag'],
  async drive({ get, post }) {
    const query = async (query, variables, headers = {}) => (await post('/graphql', { query, variables }, { headers })).json()
    assert.deepEqual(await query('{ people me }', {}, { 'x-user': 'ada' }), { data: { people: ['Ada'], me: 'ada' } })
    assert.deepEqual(await query('mutation ($name: String!) { add(name: $name) }', { name: 'Grace ü' }), { data: { add: 2 } })
    assert.deepEqual(await query('query ($p: String) { people(prefix: $p) }', { p: 'G' }), { data: { people: ['Grace ü'] } })
    const batch = await post('/graphql', '[{"query":"{me}"},{"query":"{people}"}]', { headers: { 'content-type': 'application/json' } })
    assert.equal(batch.json().length, 2)
    assert.equal((await query('{ fails }')).errors[0].message, 'failed')
    assert.equal((await query('{ none }')).errors[0].extensions.code, 'GRAPHQL_VALIDATION_FAILED')
    assert.equal((await get('/graphql?query=%7Bme%7D')).status, 400)
    assert.equal((await get('/graphql?query=%7Bme%7D', { headers: { 'apollo-require-preflight': 'yes' } })).status, 200)
    assert.match((await get('/graphql', { headers: { accept: 'text/html' } })).text, /<!DOCTYPE html>/)
  },
})
