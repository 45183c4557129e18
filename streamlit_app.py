"""The app's entry: `streamlit run streamlit_app.py`, or `uvicorn streamlit_app:app`."""

import streamlit as st
from starlette.middleware import Middleware

from app.security import SecurityHeaders
from app.ui.errors import on_script_error
from app.ui.start import StartScript

middleware = [Middleware(SecurityHeaders), Middleware(StartScript)]
app = st.App("app/main.py", middleware=middleware, on_script_error=on_script_error)
