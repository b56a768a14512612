import { createCookie, Form, redirect } from 'react-router'

const kept = createCookie('name')

export async function loader({ request }) {
  return { name: await kept.parse(request.headers.get('cookie')) }
}

export async function action({ request }) {
  const form = await request.formData()
  return redirect('/other', { headers: { 'set-cookie': await kept.serialize(form.get('name')) } })
}

export default function Other({ loaderData: { name } }) {
  return (
    <main>
      <h1>Other</h1>
      <p id="greeting">{name ? `Hello ${name}` : 'Who are you?'}</p>
      <Form method="post">
        <input name="name" aria-label="Name" />
        <button type="submit">Send</button>
      </Form>
    </main>
  )
}
