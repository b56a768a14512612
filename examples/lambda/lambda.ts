// weir in AWS Lambda, behind API Gateway, a function URL or an Application Load Balancer.
import { HttpServer } from 'weirjs'
import { lambda } from 'weirjs/lambda'

// Outside of the handler: it is created once for each instance, and not for each event.
const server = new HttpServer({ limits: { maxRequestBodySize: '6MiB' }, timeouts: { requestTimeout: '25s' } })
server.mapGet('/hello/:name', ({ name }) => `Hello ${name}`)

export const handler = lambda(server)
