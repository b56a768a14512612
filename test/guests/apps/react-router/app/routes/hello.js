export function loader({ request }) {
  return Response.json({ hello: new URL(request.url).searchParams.get('name') }, { headers: { 'x-api': 'yes' } })
}

export async function action({ request }) {
  return new Response((await request.text()).toUpperCase(), { status: 201 })
}
