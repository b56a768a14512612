import { inspector } from '@weirjs/dev'
import { openapi } from '@weirjs/openapi'
import { HttpServer, t } from 'weirjs'
import { websocket } from 'weirjs/websocket'

const server = new HttpServer('127.0.0.1', 3000)
server.use(inspector())
server.use(openapi({ info: { title: 'Orders', version: '1.0.0' }, ui: '/docs' }))

const customers = new Map([[1, { name: 'Ada', city: 'London' }]])
const Order = t.object({ customer: t.int, items: t.array(t.string).min(1) })

server.get('/customers/:id', { id: t.int }, ({ id }, { response }) => {
  return customers.get(id) ?? response.notFound()
})

server.post('/orders', { body: Order, summary: 'Places an order' }, ({ body }) => {
  const customer = customers.get(body.customer)
  return { shipTo: customer.city, items: body.items }
})

server.use(
  websocket('/kitchen', {
    message(socket, text) {
      socket.send(JSON.stringify({ ...JSON.parse(text), state: 'ready' }))
    },
  }),
)

await server.run({ signals: ['SIGINT', 'SIGTERM'] })
