"""The app's entry: `streamlit run streamlit_app.py`, or `uvicorn streamlit_app:app`."""

import streamlit as st
from starlette.middleware import Middleware

from app.security import SecurityHeaders
from app.ui.errors import on_script_error

app = st.App("app/main.py", middleware=[Middleware(SecurityHeaders)], on_script_error=on_script_error)
