// The two hundred routes of w7, as an average business API has them. Every server registers them from here in its own way.

const RESOURCES = [
  ['accounts', 'members'],
  ['articles', 'comments'],
  ['assets', 'versions'],
  ['bookings', 'guests'],
  ['campaigns', 'banners'],
  ['carts', 'items'],
  ['categories', 'products'],
  ['contracts', 'clauses'],
  ['coupons', 'redemptions'],
  ['customers', 'addresses'],
  ['devices', 'readings'],
  ['employees', 'absences'],
  ['events', 'sessions'],
  ['invoices', 'lines'],
  ['orders', 'shipments'],
  ['projects', 'tasks'],
  ['reports', 'pages'],
  ['suppliers', 'offers'],
  ['tickets', 'messages'],
  ['users', 'devices'],
]

/** `{ method, path, name, params }`, ten for each of twenty resources. A handler responds with the name and the route values. */
export const ROUTES = RESOURCES.flatMap(([resource, part]) => [
  route('GET', `/api/${resource}`),
  route('POST', `/api/${resource}`),
  route('GET', `/api/${resource}/recent`),
  route('GET', `/api/${resource}/export`),
  route('GET', `/api/${resource}/:id`),
  route('PUT', `/api/${resource}/:id`),
  route('DELETE', `/api/${resource}/:id`),
  route('GET', `/api/${resource}/:id/${part}`),
  route('GET', `/api/${resource}/:id/${part}/:partId`),
  route('GET', `/api/${resource}/:id/summary`),
])

function route(method, path) {
  return { method, path, name: `${method} ${path}`, params: [...path.matchAll(/:(\w+)/g)].map((match) => match[1]) }
}

/** A path that matches the route, and the right response. */
export function sampleOf({ path, name, params }, values) {
  const answer = { route: name }
  let target = path
  params.forEach((param, i) => {
    answer[param] = values[i]
    target = target.replace(`:${param}`, values[i])
  })
  return { target, answer }
}
